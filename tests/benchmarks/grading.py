"""How long a class takes to grade: python tests/benchmarks/grading.py [lesson] [students].

Every student hands in the lesson with each exercise solved, left blank, or
solved with one operator, constant, comparison, branch or line changed; the
third of the three half of the time. Everything is real: the walls, the pages.
"""

import json
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from naive_graph.classroom.judging import exercise_named
from naive_graph.classroom.mutants import mutants
from naive_graph.classroom.solutions import solution_text
from naive_graph.cli.main import main


def hand_in(course, lesson, students):
    """Everybody's notebook, made of the teacher's."""
    chance = Random(1)
    whole = json.loads((course / "source" / lesson / f"{lesson}.ipynb").read_text(encoding="utf-8"))
    fill = [cell for cell in whole["cells"] if cell["metadata"].get("nbgrader", {}).get("solution")]
    right = {cell["id"]: solution_text(exercise_named(cell["metadata"]["nbgrader"]["grade_id"])) for cell in fill}
    wrong = {place: [text for _, text in mutants(text)] for place, text in right.items()}
    for student in range(students):
        for cell in fill:
            cell["source"] = chance.choice((right[cell["id"]], "", *2 * [chance.choice(wrong[cell["id"]])]))
        place = course / "submitted" / f"student{student:03}" / lesson / f"{lesson}.ipynb"
        place.parent.mkdir(parents=True)
        place.write_text(json.dumps(whole), encoding="utf-8")
    return len(fill)


if __name__ == "__main__":
    lesson, students = sys.argv[1] if sys.argv[1:] else "02", int(sys.argv[2]) if sys.argv[2:] else 200
    with tempfile.TemporaryDirectory() as folder:
        course = Path(folder, "course")
        main(["class", "new", str(course), lesson])
        (name,) = (each.name for each in (course / "source").iterdir())
        exercises = hand_in(course, name, students)
        began = time.monotonic()
        code = main(["class", "grade", str(course / "submitted")])
        took = time.monotonic() - began
        print((course / "results" / "points.csv").read_text(encoding="utf-8"))
    print(f"{students} times {name}, {exercises} exercises each: {took:.0f} s, exit code {code}")
