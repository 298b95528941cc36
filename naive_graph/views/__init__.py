"""Ways to look at a graph and at what became of it."""
