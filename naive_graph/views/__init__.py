"""Ways to look at a graph and at what became of it.

look          sizes, digits and colours: all take theirs from here
policy        what a page may do in a browser
pieces        the files that pages are made of
drawing/      graphs
plots/        optimisations, and timetables
steps/        the walk through the sweeps
stepper/      the same on a screen
heights/      a model from its layers down to its instructions
playground/   a page in which one writes Python
tensorboard/  a history, and a graph, in TensorBoard
"""

from ..core.lazy_exports import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "heights.altitudes": "altitudes",
        "drawing.draw": "draw",
        "plots.compare": "compare",
        "plots.cycles": "cycles",
        "plots.gantt": "gantt",
        "plots.history": "History",
        "steps.record": "record step",
        "steps.shown": "Steps",
    },
)
