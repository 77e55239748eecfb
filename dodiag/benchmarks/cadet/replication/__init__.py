"""Replication by simulation: calibrated simulators of the twelve models whose scores CADET published.

``published`` holds what was printed, ``denominators`` and ``fit`` find success rates that agree with all of it,
``calibrate`` writes them as the presets ``sim:gpt-5.4`` and so on, and ``figures`` makes the publication's aggregates
from any set of scores. The presets answer as often as the printed scores say; they are simulators, and no model has
been asked.
"""
