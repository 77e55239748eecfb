"""Statements decided by looking at every case; nothing here uses a solver or rounds a number."""

from dodiag.proofs.counting.configurations import configuration_counts, shared_arms, unfolded_chains
from dodiag.proofs.counting.grids import grids_of_four, joint_region
from dodiag.proofs.counting.reruns import rerun_statements
from dodiag.proofs.statement import Statement

STATEMENTS: tuple[Statement, ...] = (
    *configuration_counts(),
    *shared_arms(),
    *unfolded_chains(),
    *grids_of_four(),
    *joint_region(),
    *rerun_statements(),
)
"""All statements that are decided by counting."""
