"""Bounds by linear programming over response types: any query that is linear, or a ratio of linear forms, in the joint
distribution of the potential outcomes, under any margins and further linear constraints.

``response_types`` names the outcomes and makes linear forms of them, ``bound`` gives both ends for given numbers,
``closed_form`` gives the formula for all numbers at once, ``certificate`` checks what they claim and needs only the
standard library.
"""
