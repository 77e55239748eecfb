"""What reading a reply gives: the reading itself, and what one rule found on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from dodiag.scm.answers import Answer
from dodiag.vocabulary import Outcome

NO_FLAGS: frozenset[str] = frozenset()
SPAN_LIMIT = 200
"""Characters of evidence that a reading keeps."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What one reply came to.

    Attributes
    ----------
    outcome : Outcome
        ``value``, ``none``, ``invalid``, ``refused`` or ``truncated``.
    value : answer or None
        The canonical answer, as ``dodiag.scm.answers.normalise`` gives it; None unless the outcome is ``value``.
    flags : frozenset of str
        What a person who audits the readings wants to filter by:

        ============================  ==========================================================================
        ``lenient``                   a value, but not in the surface form that the prompt asked for
        ``revised``                   the reply gave another answer earlier, or took one back
        ``several``                   more than one answer stands where one is asked
        ``ambiguous``                 the reply can be read in two ways
        ``contradiction``             letter and option text, or word and digits, name different answers
        ``boxed``                     the answer stood in ``\\boxed{}`` or in an answer tag
        ``reasoning_removed``         a reasoning block was cut out
        ``reasoning_unclosed``        a reasoning block did not end
        ``cut``                       the reply hit its token limit, after the answer
        ``bound``                     only a bound stands where a number is asked (``at least 7``)
        ``percent``                   the number was given in percent
        ``expression``                an unfinished calculation, or digits that are no single number (a time, a date,
                                      a recurring decimal), stand where a number is asked
        ``not_integer``               a number that is not whole, where an integer is asked
        ``out_of_range``              outside the declared range, or a letter beyond the options
        ``wrong_length``              a list of another length than declared
        ``duplicates``                a list or set names an entry twice
        ``not_a_box``                 the corners of a box are not left, top, right, bottom
        ``fractions``                 numbers from 0 to 1 stand where pixels are asked
        ``not_an_answer``             text that is no answer of the type stands after an answer cue
        ``abstained``                 the reply says that it does not know
        ``unseen``                    the reply says that it got no picture
        ``missing``, ``surplus``      members that a set lacks or should not have; told when it is scored
        ============================  ==========================================================================
    how : str
        The rule that decided: ``bare``, ``cue``, ``boxed``, ``tag``, ``last_line``, ``first_line``, ``line``, ``head``,
        ``option_letter``, ``option_text``, ``only_number``, ``last_number``, ``bold``, ``run``, ``whole``, ``finish``,
        ``refusal``; empty where no rule applied.
    strict : bool
        Whether the answer stood in exactly the asked surface form: the reply is the bare answer, or its last line is
        ``Answer:`` and the bare answer.
    span : str
        The piece of the cleaned reply that was read, as evidence; at most 200 characters.
    """

    outcome: Outcome
    value: Answer | None = None
    flags: frozenset[str] = NO_FLAGS
    how: str = ""
    strict: bool = False
    span: str = ""

    @property
    def strict_value(self) -> Answer | None:
        """The value that a strict reader takes: the same, or None where the surface form is not the asked one."""
        return self.value if self.strict else None


class Found(NamedTuple):
    """What one rule found: an answer in raw form, or (`value` None) something that cannot be one.

    `undecided` without a value: answers are named, but which one is meant is open.
    """

    value: Answer | None
    span: str
    how: str
    flags: frozenset[str] = NO_FLAGS
    undecided: bool = False

    def flagged(self, *flags: str) -> Found:
        """Return the same with more flags."""
        return self._replace(flags=self.flags.union(flags))


def nothing_valid(span: str, how: str, *flags: str) -> Found:
    """Return a finding that is not an answer, for the reasons in `flags`."""
    return Found(None, span, how, frozenset(flags))


def undecided(span: str, how: str) -> Found:
    """Return a finding that names answers without saying which one is meant."""
    return Found(None, span, how, frozenset({"ambiguous"}), True)
