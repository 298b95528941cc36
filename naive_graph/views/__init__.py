"""Views: draw graphs, plot optimisations, step through sweeps, and show models in pages and TensorBoard.

theme           sizes, digits and colours: all views take theirs from here
csp             the Content-Security-Policy of a page
assets          scripts, styles and templates of pages
drawing/        graphs
plots/          optimisations, and timetables
steps/          recorded sweeps, event by event
stepper/        the page and the widget that show these steps
altitude_view/  a model from its layers down to its instructions
playground/     a page that runs Python in the browser
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
        "steps.steps": "Steps",
    },
)
