"""How long a class takes to grade, and how much memory: python tests/benchmarks/grading.py [students] [kill].

Everybody hands in another notebook of one lesson: in turn the sixty submissions of the tests, right, wrong, broken
and hostile, each with what it lacks filled in, right or with one thing changed. Everything is real: the walls, the
pages, as many workers as the command takes. With `kill` it is graded a second time: killed half-way, begun again,
and told whether the marks are the same.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1] / "classroom"))
from handing_in import notebook
from test_held_list import LIST
from test_sixty import POINTS, submissions

from naive_graph.cli.main import main


def hand_in(course, students):
    """Everybody's notebook."""
    chance, sixty = Random(1), list(submissions())
    held = {name: [base, *(text for *_, text in wrongs)] for name, base, wrongs in LIST if name in POINTS}
    for student in range(students):
        _, _, cells = sixty[student % len(sixty)]
        lacking = [name for name in POINTS if f"def {name}(" not in "\n".join(cells)]
        filled = [chance.choice((held[name][0], chance.choice(held[name]))) for name in lacking]
        place = course / "submitted" / f"student{student:03}" / "exam" / "exam.ipynb"
        place.parent.mkdir(parents=True)
        place.write_text(json.dumps(notebook(f"# {student}", *cells, *filled)), encoding="utf-8")


def usage(who):
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024  # kB on Linux


def grade(folder):
    """What the started process does: it grades, and says what it took."""
    code = main(["class", "grade", folder])
    print(json.dumps([code, *usage(resource.RUSAGE_SELF), *usage(resource.RUSAGE_CHILDREN)]))


def graded(course, until=""):
    """Grade in a process of its own, killed when its output has that text: what it said last, and the seconds."""
    began = time.monotonic()
    command = [sys.executable, "-W", "ignore", __file__, "grade", str(course / "submitted")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        for line in child.stdout:
            if until and until in line:
                child.send_signal(signal.SIGKILL)
                break
    return line, time.monotonic() - began


def tell(students, line, took):
    code, own, most, others, largest = json.loads(line)
    spent, cores = own + others, os.cpu_count()
    print(f"{students} notebooks, {len(POINTS)} exercises each, exit code {code}: {took:.0f} s on {cores} cores,")
    print(f"of which it had {spent / took:.2f}: {spent:.0f} s of processor time, {spent / students:.2f} s a notebook,")
    print(f"{own:.0f} s of them in the marker. Memory at its peak: marker {most:.0f} MB, a worker {largest:.0f} MB.")


def benchmark(students, kill):
    with tempfile.TemporaryDirectory() as folder:
        course = Path(folder, "course")
        points = ", ".join(f"{name} = {each}" for name, each in POINTS.items())
        course.mkdir()
        (course / "course.toml").write_text(f"[lessons.exam]\npoints = {{ {points} }}\n")
        main(["class", "new", str(course)])
        hand_in(course, students)
        tell(students, *graded(course))
        if kill:
            whole = (course / "results" / "points.csv").read_bytes()
            (course / "results").rename(course / "first")
            _, before = graded(course, f"{students // 2} of {students}:")
            kept = len(list((course / "results" / "verdicts").iterdir()))
            _, after = graded(course)
            same = "the same" if whole == (course / "results" / "points.csv").read_bytes() else "OTHERS"
            print(f"Killed after {before:.0f} s with {kept} kept, gone on for {after:.0f} s: the marks are {same}.")


if __name__ == "__main__":
    if sys.argv[1:2] == ["grade"]:
        grade(sys.argv[2])
    else:
        benchmark(int(next(iter(sys.argv[1:]), 200)), "kill" in sys.argv)
