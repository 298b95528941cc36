"""A compiled question: `Program(loss, wrt=weights)` is made once and asked many times.

inputs     numbers and batches for a run, and how they are copied to where machine code reads them
feeding    the checks of what a call is given, and the messages where it does not fit
weights    where the weights are: in Variables, or in an array
results    how the values and derivatives are found in the memory of a finished run
replay     a batch evaluated again sample by sample, to find the node that went wrong
backends   the engines as a Program sees them: each answers a query with values and derivatives
fast_path  a query that is repeated runs at once, without the checks
update     how a weight moves: the rule that `minimize` is given
descent    `minimize`: many steps downhill as compiled code
base       a Program of nodes
tensors    a Program of tensors, which are unfolded into nodes first
program    `Program`, the face of it all
"""
