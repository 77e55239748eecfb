"""The theorems as machine-checked statements.

``statement`` says what a statement is and ``prove`` runs them. Four methods decide: ``linear`` (exact duality),
``counting`` (every case), ``smt`` (z3, over the claims of ``claims_paper``, ``claims_bounds`` and ``claims_instances``;
``premises`` says which of their premises are needed) and ``coq_check`` (the files in ``coq``).
"""
