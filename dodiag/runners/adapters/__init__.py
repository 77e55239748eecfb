"""Ways to reach a model, each behind the protocol of ``dodiag.runners.protocol``."""
