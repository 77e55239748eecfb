"""Judges: a separate model says whether a free-text answer means the same as the reference.

``verdicts`` reads what a judge replies, ``judge`` asks it, ``agreement`` compares raters.
"""
