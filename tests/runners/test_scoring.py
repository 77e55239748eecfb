"""From a reply to an outcome: what is right, what is wrong, what is missing."""

import pytest
from packs import SUMS, sums_instance, write_pack

from dodiag.runners.protocol import Finish, Reply
from dodiag.runners.scoring import score
from dodiag.scm.pack import load_pack

TEXT = SUMS.replace("answer: {type: integer, min: 0, max: 40}", "answer: {type: text}")

CASES = [
    ("a", "0", Finish.STOP, "value", True),
    ("a", "1", Finish.STOP, "value", False),
    ("a", "99", Finish.STOP, "invalid", False),
    ("a", "no idea", Finish.STOP, "none", False),
    ("a", "0", Finish.REFUSAL, "refused", False),
    ("a", None, Finish.LENGTH, "truncated", False),
    ("b", "one", Finish.STOP, "value", True),
    ("b", "Answer: B", Finish.STOP, "value", False),
    ("y", "turn left", Finish.STOP, "value", True),
    ("y", "Turn Left.", Finish.STOP, "value", True),
    ("y", "turn right", Finish.STOP, "value", False),
    ("y", "go to the left", Finish.STOP, "unscored", None),
    ("y", "", Finish.STOP, "none", False),
]


@pytest.mark.parametrize(("question", "text", "finish", "outcome", "solved"), CASES)
def test_outcome(tmp_path, question, text, finish, outcome, solved):
    instance = sums_instance(0)
    instance["questions"][2].update(answer="turn left", incorrect="turn right")
    pack = load_pack(write_pack(tmp_path / "p", TEXT, [instance]))
    found = score(pack.task, pack.instance("s00000").question(question), Reply(text, finish))
    assert (found.outcome, found.solved) == (outcome, solved)
