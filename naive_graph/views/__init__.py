"""Ways to look at a graph and at what became of it.

theme           sizes, digits and colours: all views take theirs from here
csp             the Content-Security-Policy of a page
assets          scripts, styles and templates of pages
drawing/        graphs
plots/          optimisations, and timetables
steps/          the walk through the sweeps
stepper/        that walk on a screen
altitude_view/  a model from its layers down to its instructions
playground/     a page in which one writes Python
tensorboard/    a history, and a graph, in TensorBoard
"""

from ..core.lazy_exports import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "altitude_view.altitudes": "altitudes",
        "drawing.draw": "draw",
        "plots.compare": "compare",
        "plots.cycles": "cycles",
        "plots.gantt": "gantt",
        "plots.history": "History",
        "steps.record": "record step",
        "steps.widgets": "Steps",
    },
)
