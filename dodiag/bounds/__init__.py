"""Capabilities, contribution scores and bounds on probabilities of causation, from numbers and from outcome tables.

Pure mathematics: imports no other room. Everything works from an outcome table, whoever made it.
"""
