"""Parallel forward and backward: a task graph (DAG) that runs serially, in threads, or on Dask.

graph          the tasks and their dependencies
work           the callable of each task
engine         `DAGExecutionEngine`, which runs the tasks level by level
serialization  pickling of tasks, results and arrays for another process
on_dask        `DaskEngine`
"""
