"""MM-CoT: chains of cause and effect about pictures and videos, selected from true parts and distractors.

``data``, ``loader`` and ``results`` read the published files, ``inspection`` reports what is odd in them, ``notation``
reads replies as the released scripts do and ``lenient`` as a person would, ``image_scores`` and ``video_scores`` make
the benchmark's figures, ``tiers`` and ``published`` say what the printed ones mean, ``taxonomy`` and ``axes`` tell
visual from logical failures, ``prompts`` and ``packs`` express items as task graphs, ``dice_chains``, ``dice_items``
and ``generator`` make new ones with known truth.
"""
