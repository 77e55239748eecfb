"""Works of the corpus of music21 that may be excerpted: free music, in encodings whose files state a free licence.

The works are old enough to be free in most of the world. An encoding has rights of its own, and those of the corpus
differ: its licence says to look into each file. Listed here are the works whose file states the public domain, CC0,
CC BY or CC BY-SA. Left out are those that state nothing or leave the notice empty (the quartets, most songs), that were
permitted to music21 alone (the chorales of jsbchorales.net), are for non-commercial use (the Essen folk songs), have
all rights reserved (Palestrina), or are under the GPL (Josquin), whose terms for a picture are not clear. Two notices
name no version of their licence (Beach, "CC-SA-BY"; Corelli, "CC-BY"): neither does the list.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Work:
    """One work of the corpus.

    Attributes
    ----------
    path : str
        As ``music21.corpus.parse`` takes it.
    composer, title : str
    licence : str
        Of the encoding: its SPDX name, without the version where the file gives none, or ``public domain``.
    credit : str
        Whom the file's own notice names; empty where it names nobody.
    share : float
        How often the work is drawn, relative to the others: about the square root of the number of its excerpts.
    """

    path: str
    composer: str
    title: str
    licence: str
    credit: str
    share: float


CUTHBERT = "Michael Scott Asato Cuthbert"
CYPRESSDOME = "Cypressdome, for IMSLP"

WORKS = (
    Work("beach/prayer_of_a_tired_child", "Amy Beach", "Prayer of a Tired Child", "CC-BY-SA", CUTHBERT, 14),
    Work("ciconia/quod_jactatur", "Johannes Ciconia", "Quod jactatur", "CC-BY-SA-3.0", CUTHBERT, 6),
    Work("luca/gloria", "D. Luca", "Gloria (Q15)", "CC-BY-SA-3.0", CUTHBERT, 26),
    Work("corelli/opus3no1/1grave", "Arcangelo Corelli", "Sonata da chiesa op. 3 no. 1, Grave", "CC-BY", CUTHBERT, 9),
    Work("johnson_j_r/lift_every_voice", "J. Rosamond Johnson", "Lift Every Voice and Sing", "CC0-1.0", CUTHBERT, 13),
    Work("liliuokalani/aloha_oe", "Liliuokalani", "Aloha Oe", "CC0-1.0", CUTHBERT, 3),
    Work("weber/concertino_clarinet", "Carl Maria von Weber", "Concertino", "public domain", "Oliver Seely", 10),
    Work("schumann_clara/polonaise_op1n1", "Clara Schumann", "Polonaise op. 1 no. 1", "CC-BY-SA-4.0", CYPRESSDOME, 3),
    Work("schumann_clara/polonaise_op1n2", "Clara Schumann", "Polonaise op. 1 no. 2", "CC-BY-SA-4.0", CYPRESSDOME, 1),
    Work("schumann_clara/polonaise_op1n3", "Clara Schumann", "Polonaise op. 1 no. 3", "CC-BY-SA-4.0", CYPRESSDOME, 1),
    Work("leadSheet/fosterBrownHair", "Stephen Foster", "Jeanie with the Light Brown Hair", "public domain", "", 6),
)
