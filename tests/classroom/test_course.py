"""The course file says what it cannot be read for, who, and the way out."""

from datetime import datetime

import pytest

from naive_graph.classroom.course import FILE, course_text, read_course
from naive_graph.classroom.grading import read_task
from naive_graph.cli.main import main
from naive_graph.errors import LessonError


@pytest.fixture
def course(tmp_path):
    """A course with such a file."""

    def written(text):
        (tmp_path / FILE).write_text(text, encoding="utf-8")
        return read_course(tmp_path)

    return written


def test_a_new_course_file_can_be_read(course):
    made = course(course_text([("02_kahns_order", ["kahn", "depends_on"]), ("01_nodes", [])]))
    assert made.lessons["02_kahns_order"].points == {"kahn": 1.0, "depends_on": 1.0}
    assert made.lessons["01_nodes"].points == {} and made.limits == (60, 1024, True)


def test_a_course_file_of_before_a_lesson_became_two_sets_both_parts(tmp_path):
    file = """
[lessons.10_forward_against_reverse]
points = { hessian_times = 1, fixed_point = 1, "predict 10.3" = 1 }
[lessons.16b_from_sequential_to_pipeline]
points = { at_work = 1, two_buffers = 1, "predict 16b.2" = 1 }
"""
    (tmp_path / FILE).write_text(file, encoding="utf-8")
    assert main(["class", "new", str(tmp_path)]) == 0
    course = read_course(tmp_path)
    asked = {name: read_task(course, lesson).expressions for name, lesson in course.lessons.items()}
    assert {"hessian_times", "fixed_point"} <= asked["10_forward_against_reverse"].keys()
    assert {"at_work", "two_buffers"} <= asked["16b_from_sequential_to_pipeline"].keys()
    assert "predict 10b.1" in course.lessons["10_forward_against_reverse"].predictions


@pytest.mark.parametrize("due, hour", [("2027-01-31", 23), ("2027-01-31T18:00:00", 18)])
def test_a_day_is_due_to_its_end(course, due, hour):
    made = course(f"[lessons.a]\ndue = {due}\n")
    assert made.lessons["a"].due.replace(tzinfo=None, minute=0, second=0, microsecond=0) == datetime(2027, 1, 31, hour)


@pytest.mark.parametrize(
    "text, told",
    [
        ("[lessons", "cannot be read: .* Mend that place"),
        ("lesons = 3", "'lesons', which means nothing. Did you mean 'lessons'"),
        ("lessons = 3", r"lessons in the file is 3. Make it a table.*\[lessons\]"),
        ("[lessons.a]\npoints = 3", r"points in a is 3. Make it a table"),
        ("[lessons.a]\ndew = 3", "a has an entry 'dew'.*Did you mean 'due'"),
        ("[lessons.a]\ndue = '2027-01-31'", "due of a is '2027-01-31', no date.*without quotes"),
        ("[lessons.a]\npoints = { kahm = 1 }", "a.points has an entry 'kahm'.*Did you mean 'kahn'"),
        ("[lessons.a]\npoints = { kahn = 'one' }", "kahn in a.points is 'one'. Write a number from 0: kahn = 1"),
        ("[lessons.a]\npoints = { kahn = true }", "kahn in a.points is True. Write a number"),
        ("[lessons.a]\npoints = { kahn = -1 }", "kahn in a.points is -1. Write a number from 0"),
        ("[lessons.a]\npoints = { kahn = inf }", "kahn in a.points is inf"),
        ("[limits]\nseconds = 0", "seconds in limits is 0. Write a number from 1"),
        ("[limits]\nminutes = 1", "limits has an entry 'minutes'"),
    ],
)
def test_a_mistake_in_the_file_is_told_with_its_place_and_the_way_out(course, text, told):
    with pytest.raises(LessonError, match=f"{FILE}: .*{told}|{FILE} {told}"):
        course(text)


def test_a_folder_without_the_file_is_no_course(tmp_path):
    with pytest.raises(LessonError, match=r"no .*course.toml. Make a course there first: naive-graph class new"):
        read_course(tmp_path)
