"""Exercises that know the mistake, and what the lessons bring along.

cases             what an answer is asked: every small graph, random ones, nasty ones
run_answer        runs an answer, whatever it does, so that nothing else changes
exercise          an exercise: a right solution, and the misconceptions, each a small change of it
misconceptions    which mistake an answer makes, by what it does
exercises         the exercises themselves
judging           the verdict: right or not, the smallest failing case, the mistake
solutions         the solutions as text, and what a learner begins with
notebook          check, hint, solution, working, progress, predict; what a learner has done, in one file
tiny              tiny.py, the engine of a learner's own: begin it, check it, go on with it
sentences         small sentences to learn from
trees             networks that read them
lessons           where the lessons are, with and without what their cells showed
language          lessons and messages in other languages, of catalogues
digits            pictures of digits, and a network from somewhere else that reads them

For a class:

program_slice     the part of a program that a name needs
answers           the answers in a notebook
sandbox_child     the sandbox from inside: limits, and the learner's code
system_calls      what an answer may not ask of Linux
sandbox           the sandbox from outside: what goes in, what is believed
handout           a lesson as notebooks for a class
course            the course file
custom_exercises  exercises of the lecturer's own
mutation          small changes of a program: mutants of solutions, and slips of learners
near_misses       which slip makes an answer wrong, and how wrong values stand to right ones
checking          whether the cases of an exercise tell its mistakes apart
manual_marks      marks that a person gives
handed_in         what lies in a student's folder, and why some of it is not graded
collecting        a ZIP of all submissions, put where they are graded
grading           a folder of notebooks, graded
mark_tables       the marks as tables, for Moodle and Canvas
gradescope        a lesson as Gradescope grades it
pages             what is told of it, to each student and to the teacher
"""

from ..core.lazy_exports import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "judging": "Verdict judge",
        "notebook": "check hint predict progress solution working",
        "tiny": "check_tiny start_tiny working_tiny",
    },
)
