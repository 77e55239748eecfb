"""What many units, prerequisites and models come to: the derived analyses of CADET, from any outcome table.

* :func:`capability_averages`: error budget, resilience, roots against the rest (Figures 3, 4, 13 to 16; Tables 6 to 9).
* :func:`contribution_averages`: N and S by prerequisite, category, model, group, pattern (Figures 6, 7, 9, 18, 20).
* :func:`quadrants`: prerequisites on the plane of N and S (Figures 5, 17).
* :func:`model_agreement`, :func:`contrast_agreement`, :func:`mean_agreement`: rank correlations (Figure 19).
* :func:`ablation_averages`, :func:`score_shift`: the ablation states (Figures 21, 22).
"""

from dodiag.bounds.aggregates.ablations import AblationRow, ablation_averages
from dodiag.bounds.aggregates.agreement import (
    Agreement,
    Shift,
    contrast_agreement,
    mean_agreement,
    model_agreement,
    score_shift,
)
from dodiag.bounds.aggregates.averages import Average
from dodiag.bounds.aggregates.capabilities import CapabilityRow, capability_averages
from dodiag.bounds.aggregates.contributions import ContributionRow, contribution_averages
from dodiag.bounds.aggregates.quadrants import HIGH, Placed, Quadrant, quadrant_of, quadrants

__all__ = [
    "HIGH",
    "AblationRow",
    "Agreement",
    "Average",
    "CapabilityRow",
    "ContributionRow",
    "Placed",
    "Quadrant",
    "Shift",
    "ablation_averages",
    "capability_averages",
    "contrast_agreement",
    "contribution_averages",
    "mean_agreement",
    "model_agreement",
    "quadrant_of",
    "quadrants",
    "score_shift",
]
