"""A ZIP of all submissions becomes the folders that are graded: the newest of everybody, or nothing at all."""

import json
import os
import zipfile
from datetime import datetime

import pytest
from handing_in import KAHN_BY_VALUE, LESSON, RIGHT, WRONG, hand_in, new_course, notebook

from naive_graph.cli.main import main

pytestmark = pytest.mark.usefixtures("data_apart")
NOON = (2027, 1, 31, 12, 0, 0)
MOODLE = "assignsubmission_file"


@pytest.fixture
def course(tmp_path, monkeypatch):
    made = new_course(tmp_path, monkeypatch)
    file = made / "course.toml"
    file.write_text(
        file.read_text().replace("# due = 2027-01-31", "due = 2027-01-31T18:00:00").replace("# late", "late")
    )
    return made


@pytest.fixture
def collect(course, tmp_path, capsys):
    """Collects a ZIP of (name, answer, time): the exit code, and what was said."""

    def collected(*entries, words=()):
        with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
            for name, answer, *when in entries:
                text = answer if isinstance(answer, bytes) else json.dumps(notebook(answer))
                entry = zipfile.ZipInfo(name, *(when or [NOON]))
                entry.external_attr = 0o120777 << 16 if text == b"/etc/passwd" else 0  # a link
                archive.writestr(entry, text)
        capsys.readouterr()
        code = main(["class", "collect", str(tmp_path / "all.zip"), str(course / "submitted"), *words])
        return code, "".join(capsys.readouterr())

    return collected


def held(course):
    """All files below the folder, by their paths."""
    place = course / "submitted"
    return {str(each.relative_to(place)): each.read_bytes() for each in place.rglob("*") if each.is_file()}


def answers(course):
    """The answer of each student."""
    files = held(course).items()
    return {
        name.split(os.sep)[0]: json.loads(text)["cells"][-1]["source"]
        for name, text in files
        if name.endswith(".ipynb")
    }


def stamp(course, student):
    told = (course / "submitted" / student / LESSON / "timestamp.txt").read_text()
    return datetime.fromisoformat(told.strip().replace(" UTC", "+00:00"))


@pytest.mark.parametrize(
    "name",
    [
        f"Ada Müller_123456_{MOODLE}/01.ipynb",
        f"Ada Müller_123456_{MOODLE}_/01.ipynb",
        f"Ada Müller_123456_{MOODLE}_01.ipynb",
        f"homework/Ada Müller_123456_{MOODLE}_/mine/01.ipynb",
    ],
)
def test_a_zip_of_moodle_keeps_the_name_and_the_time(course, collect, name):
    assert collect((name, RIGHT))[0] == 0
    assert answers(course) == {"Ada Müller": RIGHT}
    assert stamp(course, "Ada Müller") == datetime(*NOON).astimezone()


def test_a_zip_of_canvas_says_late_by_a_word_which_counts_as_one_day(course, collect):
    code, told = collect(
        ("adalovelace_12345_67890_02_small.ipynb", RIGHT, (2027, 3, 1, 0, 0, 0)),
        ("lebob_LATE_12346_67891_02_small.ipynb", WRONG, (2027, 3, 1, 0, 0, 0)),
    )
    assert code == 0 and "lebob" in told and "adalovelace" not in told
    assert answers(course) == {"adalovelace": RIGHT, "lebob": WRONG}
    due = datetime(2027, 1, 31, 18).astimezone()
    assert stamp(course, "adalovelace") == due and 0 < (stamp(course, "lebob") - due).total_seconds() < 60


def test_what_was_collected_is_graded_with_its_lateness(course, collect):
    collect((f"Ada_1_{MOODLE}/a.ipynb", RIGHT), (f"Bob_2_{MOODLE}/b.ipynb", RIGHT, (2027, 2, 1, 12, 0, 0)))
    assert main(["class", "grade", str(course / "submitted"), "--trust"]) == 0
    lines = (course / "results" / "points.csv").read_text().splitlines()
    assert f"Ada,{LESSON},slope,1,1,,in time" in lines and f"Bob,{LESSON},slope,0.75,1,,late" in lines


def test_of_two_submissions_the_newest_is_taken(course, collect):
    collect(
        (f"Ada_1_{MOODLE}/new.ipynb", RIGHT, (2027, 1, 31, 13, 0, 0)),
        (f"Ada_1_{MOODLE}/old.ipynb", WRONG, NOON),
        ("lebob_5_70_02-1.ipynb", RIGHT),
        ("lebob_5_70_02.ipynb", WRONG),
        ("zoe_6_9_02.ipynb", WRONG),
        ("zoe_6_10_02.ipynb", RIGHT),
    )
    assert answers(course) == {"Ada": RIGHT, "lebob": RIGHT, "zoe": RIGHT}


def test_two_students_of_one_name_are_told_apart(course, collect):
    collect((f"Ann Lee_1_{MOODLE}/a.ipynb", RIGHT), (f"ann lee_2_{MOODLE}/a.ipynb", WRONG))
    assert answers(course) == {"Ann Lee_1": RIGHT, "ann lee_2": WRONG}


@pytest.mark.parametrize("letters", ["王小明", "Zoë O'Brien", "Ёлка"])
def test_a_name_of_any_letters_is_kept_also_where_the_zip_does_not_say_utf_8(course, collect, letters):
    assert zipfile.ZipInfo(letters).filename == letters
    collect((f"{letters}_1_{MOODLE}/{letters}.ipynb".encode().decode("cp437"), RIGHT))
    collect((f"{letters}_1_{MOODLE}/{letters}.ipynb", RIGHT))
    assert letters in answers(course)


HOSTILE = [
    f"../../out_1_{MOODLE}/a.ipynb", f"/out_1_{MOODLE}/a.ipynb", f"..\\..\\out_1_{MOODLE}/../../../a.ipynb",
    f".._1_{MOODLE}/a.ipynb", f".hidden_1_{MOODLE}/..ipynb", f"C:\\out_1_{MOODLE}/a.ipynb", "..LATE_1_2_.ipynb",
    f"{'ü' * 300}_1_{MOODLE}/a.ipynb", f"\x01\x7f_1_{MOODLE}/a.ipynb", "a" * 5000 + ".ipynb",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_leads_out_of_the_folder_or_hides_in_it(course, collect, tmp_path, name):
    before = {each for each in tmp_path.rglob("*") if course / "submitted" not in each.parents} | {
        tmp_path / "all.zip",
        course / "ids.csv",
    }
    assert collect((name, RIGHT), (f"Ada_7_{MOODLE}/a.ipynb", RIGHT))[0] == 0
    assert {each for each in tmp_path.rglob("*") if course / "submitted" not in each.parents} == before
    assert list((course / "submitted").rglob(".*")) == [] and "Ada" in answers(course)
    assert {len(each.split(os.sep)) for each in held(course)} == {3}


def test_a_link_in_the_zip_is_no_link_in_the_folder(course, collect):
    collect((f"Ada_1_{MOODLE}/a.ipynb", b"/etc/passwd"))
    assert not [each for each in (course / "submitted").rglob("*") if each.is_symlink()]


def test_what_is_too_large_is_named_and_the_others_are_taken(course, collect):
    code, told = collect((f"Ada_1_{MOODLE}/a.ipynb", bytes((1 << 25) + 1)), (f"Bob_2_{MOODLE}/b.ipynb", RIGHT))
    assert code == 1 and "not taken: Ada" in told and answers(course) == {"Bob": RIGHT}


def test_what_is_no_notebook_is_named_with_who_handed_it_in(course, collect):
    text = f"Eve_3_{MOODLE.replace('file', 'onlinetext')}/onlinetext.html"
    code, told = collect(
        (f"Ada_1_{MOODLE}/a.ipynb", RIGHT), (f"Bob_2_{MOODLE}/b.pdf", b"%PDF"), (text, b""), ("zoe_5_6_all.zip", b"PK")
    )
    assert code == 1 and answers(course) == {"Ada": RIGHT}
    for each in "Bob: b.pdf", "Eve: onlinetext.html", "zoe: all.zip":
        assert f"not taken: {each} is no notebook" in told
    code, told = collect((f"Ada_1_{MOODLE}/a.ipynb", RIGHT), (f"Ada_1_{MOODLE}/note.txt", b""))
    assert code == 0 and "not taken: Ada: note.txt is no notebook" in told


def test_no_link_in_the_folder_is_followed(course, collect, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (course / "submitted" / "Ada").symlink_to(tmp_path / "elsewhere")
    (course / "submitted" / "Bob").mkdir()
    (course / "submitted" / "Bob" / LESSON).symlink_to(tmp_path / "elsewhere")
    code, told = collect(*((f"{name}_{place}_{MOODLE}/a.ipynb", RIGHT) for place, name in enumerate(("Ada", "Bob"))))
    assert code == 1 and told.count("is a link, and no link is followed") == 2
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_is_not_waited_for(course, capsys):
    os.mkfifo(course / "all.zip")
    assert main(["class", "collect", str(course / "all.zip"), str(course / "submitted")]) == 1
    assert "is no file. Give the ZIP as it was downloaded." in capsys.readouterr().err


def test_a_name_that_windows_keeps_for_itself_is_another_folders(course, collect):
    collect(
        *((f"{name}_{place}_{MOODLE}/a.ipynb", RIGHT) for place, name in enumerate(("CON", "nul.x", "Com1", "Conny")))
    )
    assert answers(course).keys() == {"_CON", "_nul.x", "_Com1", "Conny"}


def test_marks_go_back_by_the_numbers_that_the_systems_gave(course, collect):
    collect((f"Ada Byron_4711_{MOODLE}/a.ipynb", RIGHT), ("lebob_12346_67891_02_small.ipynb", WRONG))
    (course / "submitted" / "eve").mkdir()
    assert main(["class", "grade", str(course / "submitted"), "--trust"]) == 0
    tables = {each: (course / "results" / each).read_text().splitlines() for each in ("moodle.csv", "canvas.csv")}
    assert (course / "results" / f"moodle-{LESSON}.csv").read_text().splitlines() == [
        "Identifier,Full name,Grade,Maximum Grade,Last modified (grade)",
        "Participant 4711,Ada Byron,1,2,-",
    ]
    assert tables["moodle.csv"] == [f"username,{LESSON}", "eve,", "lebob,0"]
    assert tables["canvas.csv"][2:] == ["Ada Byron,,,Ada Byron,,1", "eve,,,eve,,", "lebob,12346,,,,0"]


def test_what_lies_there_is_kept_until_it_is_to_be_renewed(course, collect):
    hand_in(course, "Ada", KAHN_BY_VALUE).with_name("mine.txt").write_text("notes")
    entry = f"Ada_1_{MOODLE}/a.ipynb", RIGHT
    before = held(course)
    code, told = collect(entry)
    assert code == 0 and "kept as it is" in told and "--renew" in told and held(course) == before
    assert collect(entry, words=["--renew"])[0] == 0
    assert answers(course) == {"Ada": RIGHT} and (course / "submitted" / "Ada" / LESSON / "mine.txt").exists()
    assert "kept as it is" not in collect(entry)[1]


def test_a_full_disk_leaves_the_file_that_was_to_be_renewed(course, collect, monkeypatch):
    hand_in(course, "Ada", KAHN_BY_VALUE)
    before = held(course)

    def full(target, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("naive_graph.core.files._write_beside", full)
    code, told = collect((f"Ada_1_{MOODLE}/a.ipynb", RIGHT), words=["--renew"])
    assert code == 1 and "No space left" in told and held(course) == before


def test_a_broken_zip_changes_nothing(course, collect, tmp_path):
    hand_in(course, "Zoe", KAHN_BY_VALUE)
    before = held(course)
    collected = [(f"{name}_{place}_{MOODLE}/a.ipynb", RIGHT) for place, name in enumerate("ABC")]
    collect(*collected)
    whole = (tmp_path / "all.zip").read_bytes()
    for student in "ABC":
        for each in (course / "submitted" / student / LESSON).iterdir():
            each.unlink()
        (course / "submitted" / student / LESSON).rmdir()
        (course / "submitted" / student).rmdir()
    assert held(course) == before
    for broken in whole[:-30], whole[:100], whole.replace(b"(x + h)", b"(x - h)", 3), b"":
        (tmp_path / "all.zip").write_bytes(broken)
        assert main(["class", "collect", str(tmp_path / "all.zip"), str(course / "submitted")]) == 1
        assert held(course) == before and os.listdir(course / "submitted") == ["Zoe"]


def test_a_file_where_a_folder_is_due_changes_nothing(course, collect):
    hand_in(course, "Ada", KAHN_BY_VALUE)
    (course / "submitted" / "Cat").write_text("a file where a folder is due")
    before = held(course)
    code, told = collect(*((f"{name}_1_{MOODLE}/a.ipynb", RIGHT) for name in ("Ada", "Bob", "Cat")), words=["--renew"])
    assert code == 1 and "Nothing was changed" in told
    assert held(course) == before and sorted(os.listdir(course / "submitted")) == ["Ada", "Cat"]


def test_a_zip_of_something_else_is_told(course, collect):
    code, told = collect(("photos/cat.ipynb", RIGHT))
    assert code == 1 and "no notebook named as Moodle or Canvas" in told


def test_the_lesson_is_that_of_the_files_name_or_is_asked_for(course, collect):
    file = course / "course.toml"
    file.write_text(file.read_text() + "\n[lessons.02_small_again]\npoints = { slope = 1 }\n")
    code, told = collect((f"Ada_1_{MOODLE}/mine.ipynb", RIGHT))
    assert code == 1 and "--lesson" in told and held(course) == {}
    collect((f"Ada_1_{MOODLE}/02_Small_again (1).ipynb", RIGHT), (f"Ada_1_{MOODLE}/02_small.ipynb", WRONG))
    assert sorted(os.listdir(course / "submitted" / "Ada")) == ["02_small", "02_small_again"]
    assert collect((f"Bob_1_{MOODLE}/x.ipynb", RIGHT), words=["--lesson", "02_small_a"])[0] == 0
    assert os.listdir(course / "submitted" / "Bob") == ["02_small_again"]
    assert collect((f"Bob_1_{MOODLE}/x.ipynb", RIGHT), words=["--lesson", "02"])[0] == 1


def test_a_lessons_number_names_it(course, collect):
    assert collect((f"Bob_1_{MOODLE}/x.ipynb", RIGHT), words=["--lesson", "2"])[0] == 0
    assert os.listdir(course / "submitted" / "Bob") == [LESSON]


def test_a_tiny_py_comes_along_where_it_is_worth_something(course, collect):
    entries = (
        (f"Ada_1_{MOODLE}/tiny.py", b"class Tiny: ..."),
        ("lebob_1_2_tiny-1.py", b"new"),
        ("lebob_1_2_tiny.py", b""),
    )
    file, both = (
        course / "course.toml",
        (*entries, (f"Ada_1_{MOODLE}/02_small.ipynb", RIGHT), ("zoe_1_2_other.py", b"")),
    )
    text = file.read_text() + "\n[lessons.later]\npoints = { slope = 1 }\n"
    file.write_text(text)
    collect(*both)
    assert [each for each in held(course) if each.endswith(".py")] == []
    file.write_text(text.replace("kahn = 1", "tiny_nodes = 1"))
    collect(*both, words=["--renew"])
    tiny = {name.split(os.sep)[0]: data for name, data in held(course).items() if name.endswith("tiny.py")}
    assert tiny == {"Ada": b"class Tiny: ...", "lebob": b"new"} and answers(course) == {"Ada": RIGHT}
