"""Forward and backward of tensors as a graph of tasks: one after the other, in threads, or on Dask.

graph       who needs whose result
work        what each task computes
scheduling  running them level by level
engine      `DAGExecutionEngine`
strides     arrays that keep their layout on the way to another process
sending     nodes on the way to another process
on_dask     `DaskEngine`
"""
