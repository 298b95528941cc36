"""What is made beside the calls, for tests that want it to be there."""

from naive_graph.core.background import BackgroundTask


def finish():
    """Wait until nobody makes anything."""
    if BackgroundTask.busy.is_alive():
        BackgroundTask.busy.join()
