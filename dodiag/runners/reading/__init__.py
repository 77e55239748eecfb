"""From a model's reply to an outcome: one dispatch on the declared answer type, and never a guess.

The reply is taken apart in the same order every time. Reasoning blocks go first (``cleaning``), then markup and Unicode
forms are made plain, then the last place where the reply says what its answer is counts (``cues``), and only where
there is none do the rules for replies without a cue apply (``choice``, ``numbers``, ``lists``, ``text``). What is found
has to be a valid answer of the declared type; otherwise the outcome is ``invalid``, and where nothing is found it is
``none``, ``refused`` or ``truncated``.
"""

from __future__ import annotations

from dodiag.runners.reading.dispatch import read_answer
from dodiag.runners.reading.result import Reading

__all__ = ["Reading", "read_answer"]
