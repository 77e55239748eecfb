"""Task graphs, graph files, task packs, and structural simulators of an answering model."""
