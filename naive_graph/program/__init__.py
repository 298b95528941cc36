"""A compiled question: `Program(loss, wrt=weights)` is made once and asked many times.

inputs     numbers and batches for a run: how they are checked, and copied to where machine code reads them; and
           where the weights are: in Variables, or in an array
replay     a batch evaluated again sample by sample, to find the node that went wrong
backends   the engines as a Program sees them: each answers a query with values and derivatives, read from its memory
fast_path  a query that is repeated runs at once, without the checks
update     how a weight moves: the rule that `minimize` is given
descent    `minimize`: many steps downhill as compiled code
base       a Program of nodes
tensors    a Program of tensors, which are unfolded into nodes first
program    `Program`, the face of it all
"""
