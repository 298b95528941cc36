"""A course of sixty submissions of thirty kinds and more, each marked by hand before anybody ran them."""

import csv
import json
import re
from pathlib import Path

import pytest
from handing_in import no_walls, notebook, walled  # noqa: F401

from naive_graph.cli.main import main

TEXT = Path(__file__).with_name("sixty.txt").read_text(encoding="utf-8")
POINTS = {"slope": 1, "kahn": 2, "descend": 1}
RIGHT = {
    "SLOPE": "def slope(f, x, h=1e-5):\n    return (f(x + h) - f(x - h)) / (2 * h)",
    "KAHN": """def kahn(nodes):
    waiting = {node: len(node.last) for node in nodes}
    order = [node for node in nodes if not node.last]
    for node in order:
        for user in node.next:
            waiting[user] -= 1
            if waiting[user] == 0:
                order.append(user)
    return order if len(order) == len(nodes) else None""",
    "DESCEND": """def descend(f, df, x, rate, steps):
    values = [f(x)]
    for _ in range(steps):
        x -= rate * df(x)
        values.append(f(x))
    return values""",
}


def submissions():
    """(what it is, its marks, its cells)."""
    for entry in re.split(r"^== ", TEXT, flags=re.M)[1:]:
        head, _, body = entry.partition("\n")
        what, _, marks = head.partition(" | ")
        cells = re.split(r"^---\n", body, flags=re.M)
        yield what, [float(each) for each in marks.split()], [re.sub("|".join(RIGHT), _right, each) for each in cells]


def _right(found):
    return RIGHT[found[0]]


@walled
@pytest.mark.slow
def test_every_submission_has_the_marks_that_a_person_gave_it(tmp_path, capsys):
    points = ", ".join(f"{name} = {each}" for name, each in POINTS.items())
    limits = "[limits]\nseconds = 10\nmegabytes = 1024"
    (tmp_path / "course.toml").write_text(f"[lessons.exam]\npoints = {{ {points} }}\n{limits}\n")
    assert main(["class", "new", str(tmp_path)]) == 0
    asked = list(submissions())
    for place, (_, _, cells) in enumerate(asked):
        file = tmp_path / "submitted" / f"s{place:02}" / "exam" / "exam.ipynb"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(notebook("from naive_graph.classroom.notebook import check", *cells)))
    assert main(["class", "grade", str(tmp_path / "submitted")]) == 0
    with (tmp_path / "results" / "points.csv").open() as table:
        given = {(row["student"], row["exercise"]): float(row["points"]) for row in csv.DictReader(table)}
    marks = {what: [given[f"s{place:02}", name] for name in POINTS] for place, (what, _, _) in enumerate(asked)}
    assert marks == {what: wanted for what, wanted, _ in asked}
    assert len(asked) == 60
