"""Exercises that know the mistake, and what the lessons bring along.

cases      what an answer is asked: every small graph, random ones, nasty ones
asking     asks an answer, whatever it does, so that nothing else changes
exercise   an exercise: one function with switches, each of them a mistake
mistakes   which mistake an answer makes, by what it does
exercises  the exercises themselves
judge      the verdict: right or not, the smallest failing case, the mistake
solutions  the solutions as text, with all switches folded away
progress   what a learner has done, in one file
notebook   check, hint, solution, working, progress, predict
sentences  small sentences to learn from
trees      networks that read them
"""

from .judge import Verdict, judge

__all__ = ["Verdict", "judge"]
