"""Answers as many different students would write them: right ones, and wrong ones with the names that are true of them.

A name after `wrong` is one that says what the answer does; without any, no name is expected.
"""

from importlib import import_module
from pkgutil import iter_modules

RIGHT, WRONG = [], []


def right(exercise):
    def mark(answer):
        RIGHT.append((exercise, answer))
        return answer

    return mark


def wrong(exercise, *names):
    def mark(answer):
        WRONG.append((exercise, answer, names))
        return answer

    return mark


for each in iter_modules(__path__, f"{__name__}."):
    import_module(each.name)
