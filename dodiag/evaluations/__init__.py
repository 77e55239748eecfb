"""Benchmarks that need runs of their own: what is judged, scored and built with models, per benchmark."""
