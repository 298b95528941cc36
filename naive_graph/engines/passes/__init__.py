"""The compiler's intermediate representation (a plan) and its passes: how scalar operations become matrices.

A plan is a list of operations (rows) stored as columns; passes transform it. Read in this order:

    ir                  the columns of a plan; `build_ir` fills them from the graph's tables
    strength_reduction  replace squares, pow(x, 2), by products
    dots                fuse sums of products into dot products
    repeats             guess which rows repeat once per sample in an unrolled loop
    roll_samples        re-roll such a loop: its samples become lanes
    reverse_symbolic    append the rows of the derivatives: a reverse sweep over the plan
    cotangents          the terms of each adjoint, and templates of the local partials, for that sweep
    cse                 eliminate common subexpressions and dead code
    softmax             expand softmax rows, so that they share exponentials and their sum
    lowering            run these passes in order; `report` says in words what they did

Afterwards `compiled/schedule.py` finds what runs once and what runs for every sample, and which dots form a layer.
The top of `reverse_symbolic` explains why there is a second reverse sweep besides core/sweep.py's.
"""
