"""START HERE: the graph as two tables, the operators' rules, and the two sweeps. Pure Python, standard library alone.

After `naive_graph/naive.py` and lesson 5, read these six, in this order, half an hour:

    ieee       arithmetic on floats that never raises
    rules      what an operator is: one definition with its derivative, applied to any type of values
    catalogue  every operator with its partial derivatives, written with other operators
    tables     the graph: a table of nodes and a table of edges, and queries on them
    plan       topological order: Kahn's algorithm turns the tables into a plan
    sweep      the forward and the reverse sweep, as events; and the reference engine, which runs them

    who calls whom:  Graph.forward -> plan.plan_for -> sweep.evaluate -> sweep.forward_sweep -> Rule
                     Graph.backward -> plan.plan_for -> sweep.differentiate -> sweep.backward_pass -> Rule.partials

The other files:

    robustness and speed of these
        number         conversion and validation of arguments
        waiting        new nodes wait in a list before they become rows
        storage        the columns: appending and truncating
        lock           locking, and a guard against re-entrant calls
        records        checkpoints, ranges of rows, scopes
        origin         the line of Python that made a node
        nan_trace      the node where the first infinity or NaN arose
    more operators
        compositions   functions composed of the catalogue's operators, such as gelu and clip
        own_operators  user-defined operators
        numpy_protocol NumPy functions of our values
        reserved_names names of tensor operators
        interpreters   rules applied to other things than floats: dual numbers, formulas, code
    infrastructure
        optional_deps  optional dependencies; delayed Ctrl-C
        lazy_exports   names of packages, imported on first use
        did_you_mean   hints for wrong names and calls
        files          atomic file writing
        progress       progress bars
        background     a task in a background thread
        fork_safety    locks are taken around fork()
        version
"""
