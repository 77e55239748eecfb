"""CCRV-Bench: causal questions about photographs, asked plainly and under four constraints.

``data`` and ``loader`` read the published files, ``inspection`` reports what is odd in them, ``compliance`` applies the
constraints, ``judging`` says what a judge is asked, ``scores`` makes the benchmark's figures, ``packs`` and ``levels``
express it as task graphs, ``construct`` and ``dice`` make new sets.
"""
