"""The engines: ways to run a plan that all give the same numbers."""
