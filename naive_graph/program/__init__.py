"""A function compiled from a graph: `Program(loss, wrt=weights)` is made once and called many times.

inputs     numbers and batches for a run: how they are checked, and copied to where machine code reads them; and
           where the weights are: in Variables, or in an array
replay     a batch evaluated again sample by sample, to find the node that became infinite or NaN
backends   the ways to run a Program: each answers a query with values and derivatives, read from its memory
fast_path  repeated calls with the same signature, without the checks
update     the rule that `minimize` takes: a learning rate, or an update formula
descent    `minimize`: many steps of gradient descent as compiled code
base       a Program of nodes
tensors    a Program of tensors, which are unfolded into nodes first
program    `Program`, the public class
"""
