"""CADET: ten task graphs and the generators of their instances."""
