"""Published benchmarks: task graphs, generators of fresh instances, shipped samples."""
