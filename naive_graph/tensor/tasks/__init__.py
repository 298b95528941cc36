"""Forward and backward of tensors as a graph of tasks: one after the other, in threads, or on Dask."""
