"""START HERE: the graph as two tables, the rules, and the two sweeps. Pure Python, standard library alone.

After `naive_graph/naive.py` and lesson 5, read these six, in this order, half an hour:

    ieee       arithmetic on floats that never raises
    rules      what an operator is: one row of one table, applied to any arithmetic
    catalogue  every operator with its derivative, a row each: the only place where mathematics stands
    tables     the graph: a table of nodes and a table of edges, and the questions asked of them
    plan       who goes first: Kahn's sort turns the tables into a plan
    sweep      the walk forwards and the walk backwards, as events; and the reference engine, which runs them

    who calls whom:  Graph.forward -> plan.plan_for -> sweep.evaluate -> sweep.forward_sweep -> Rule
                     Graph.backward -> plan.plan_for -> sweep.differentiate -> sweep.backward_pass -> Rule.partials

Beside these, each when you ask what its line says:

    the same, made to last
        number         what counts as a number
        waiting        new nodes that wait for their rows, and how they become columns
        storage        the columns: how they grow and are cut back
        lock           who may ask and change the graph, and when
        records        marks, blocks and scopes that the tables speak of
        origin         the line of Python that made a node
        nan_trace      which node went wrong first
    more operators
        compositions   functions that are made of the catalogue's: activations and the like
        own_operators  a learner's own
        methods        operators as methods, `x.sin()`
        numpy_protocol NumPy's names for our rules
        reserved_names names of tensor operators
        arithmetics    the same rules compute other things than floats: dual numbers, formulas, code
    nobody needs to read first
        imports        optional tools: imported whole, or not there, which is said in words
        lazy_exports   what packages hand out
        guesses        what is said of wrong names and calls
        files          files that are written whole
        progress       bars
        background     what a thread makes while a loop runs
        fork_safety    a fork waits for locks
        version
"""
