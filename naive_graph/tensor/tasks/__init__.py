"""Forward and backward of tensors as a graph of tasks: one after the other, in threads, or on Dask.

graph       who needs whose result
work        what each task computes
scheduling  running them level by level
engine      `DAGExecutionEngine`
sending     works, results and arrays on the way to another process
on_dask     `DaskEngine`
"""
