"""A compiled question: `Program(loss, wrt=weights)` is made once and asked many times.

given      what is given to a question; `feeding` checks it
weights    where the weights are: in Variables, or in an array
results    how what was asked for is found among the results of a run
replay     many samples once more, to find the node that went wrong
questions  a question in the form in which an engine answers it
windowed   who answers; a large plan without structure goes window by window
again      the short way of a question that is asked again
habit      when it may be taken: what was asked last
update     how a weight moves
descent    a whole walk downhill as compiled code
base       a Program of nodes
tensors    a Program of tensors, which are unfolded first
program    `Program`, the face of it all
"""
