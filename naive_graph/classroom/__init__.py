"""Exercises that diagnose mistakes, data for the lessons, and tools to grade a class.

cases             test cases: every small graph, random graphs, edge cases
run_answer        runs an answer in isolation, with limits
exercise          an exercise: solution, test cases, and misconceptions as wrong programs
misconceptions    diagnoses a wrong answer by its outcomes
exercises         the exercises themselves
judging           the verdict: right or not, the smallest failing case, the mistake
solutions         the solutions as text, and what a learner begins with
notebook          check, hint, solution, working, progress, predict; what a learner has done, in one file
tiny              tiny.py, the learner's own engine: create it, check it, load it
sentences         small sentences to learn from
trees             networks that read them
lessons           where the lessons are, with and without what their cells showed
language          translations of lessons and messages (gettext catalogues)
digits            pictures of digits, and a network from somewhere else that reads them

For a class:

program_slice     the part of a program that a name needs
answers           the answers in a notebook
sandbox_child     the sandbox, child side: limits, and the learner's code
system_calls      the seccomp filter of system calls that an answer may not make
sandbox           the sandbox, parent side: starts it, sends input, validates replies
handout           a lesson as notebooks for a class
course            the course file
custom_exercises  exercises of the lecturer's own
mutation          small changes of a program: mutants of solutions, and slips of learners
near_misses       the one-line change that makes an answer right; relations of wrong to right values
checking          whether an exercise's cases detect its misconceptions, and mutants
manual_marks      marks that a person gives
handed_in         reads a student's folder: what is graded, what is not, and why
collecting        a ZIP of all submissions, put where they are graded
grading           a folder of notebooks, graded
mark_tables       the marks as tables, for Moodle and Canvas
gradescope        a lesson as Gradescope grades it
pages             HTML reports for each student and for the teacher
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
