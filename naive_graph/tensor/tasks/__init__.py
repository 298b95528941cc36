"""Forward and backward of tensors as a graph of tasks: one after the other, in threads, or on Dask.

graph          the tasks, and which needs whose result
work           what each task computes
engine         `DAGExecutionEngine`, which runs them level by level
serialization  works, results and arrays as they are sent to another process
on_dask        `DaskEngine`
"""
