"""The compiler's intermediate representation (a plan) and its passes: how scalar operations become matrices.

A plan is a list of operations (rows) stored as columns; passes transform it. Read in this order:

    ir                  the columns, and `build_ir`, which fills them from the tables
    strength_reduction  squares become products
    dots                sums of products become dot products
    repeats             which rows come again and again, and `roll_samples`: samples hidden in an unrolled graph
    reverse_symbolic    the reverse sweep appends rows, by templates of the partials, and `cotangents`
    cse                 nothing is computed twice, or for nobody
    softmax             what the shares of a softmax have in common stands there once
    lowering            all of these, one after the other; its `report` says in words what they did

What runs once and what runs for every sample, and which dots are a layer, is found by `compiled/schedule.py`.

Why there is a sweep here besides core/sweep.py's stands at the top of `reverse_symbolic`.
"""
