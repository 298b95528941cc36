"""START HERE: the graph as two tables, the rules, and the two sweeps. Pure Python, standard library alone.

    number     what counts as a number
    ieee       arithmetic on floats that never raises
    rules      what an operator is: one row of one table, applied to any arithmetic
    catalogue  every operator with its derivative, a row each: the only place where mathematics stands
    compositions    functions that are made of those: activations and the like
    records    what the tables speak of: marks, blocks, scopes
    origin     the line of Python that made a node
    lock       who may ask and change the graph, and when
    tables     the graph: a table of nodes and a table of edges
    plan       who goes first: Kahn's sort
    sweep      the walk forwards and the walk backwards, as events
    reference  the engine that runs those walks: the law for every other engine
    culprit    which node went wrong first

Then `arithmetics`, where the same rules compute other things than floats; and
what is needed beside: `numpy_protocol` (NumPy's names for our rules), `reserved_names` (names of
tensor operators), `files` and `imports` (whole, or not there), `rooms` (what
packages hand out), `guesses` (others' names), `fork_safety` (a fork waits for locks), `beside` (what is made while a
loop runs), `progress` (bars), `version`.
"""
