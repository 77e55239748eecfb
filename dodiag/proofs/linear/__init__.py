"""The theorems that are linear in the response types, proved by exact duality; ``STATEMENTS`` lists them."""

from dodiag.proofs.linear.own_state import own_state_statements
from dodiag.proofs.linear.repairs import repair_statements
from dodiag.proofs.linear.three_states import three_state_statements
from dodiag.proofs.linear.two_arms import two_arm_statements
from dodiag.proofs.statement import Statement

STATEMENTS: tuple[Statement, ...] = (
    *two_arm_statements(),
    *own_state_statements(),
    *three_state_statements(),
    *repair_statements(),
)
"""The claims that exact linear programming decides; the mutants among them have to be refuted."""
