"""Time travel: the events of the real sweeps, kept, described and put in pages."""
