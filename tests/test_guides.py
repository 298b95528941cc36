"""What guides newcomers through the source is true."""

import ast
import re

from test_floors import FLOORS, HOUSE, USES


def test_a_rooms_guide_names_all_its_files():
    for guide in HOUSE.glob("*/**/__init__.py"):
        said = ast.get_docstring(ast.parse(guide.read_text(encoding="utf-8")))
        files = {file.stem for file in guide.parent.iterdir() if file.suffix in (".py", ".js")} - {"__init__"}
        rooms = {room.parent.name for room in guide.parent.glob("*/__init__.py")}
        assert [name for name in sorted(files | rooms) if name not in said] == [], guide.parent.name


def test_the_map_for_contributors_is_true():
    """An arrow from a room to each room that it stands on, but for those that it reaches by way of another."""
    text = (HOUSE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    arrows, reached = set(), {}
    for room in FLOORS:
        names = [name for name in USES if name.split("/")[0] == room]
        below = {target.split("/")[0] for name in names for target in USES[name]} & reached.keys()
        beyond = set().union(*(reached[each] for each in below))
        reached[room] = below | beyond
        arrows |= {(room, each) for each in below - beyond if room != "__main__"}
    assert set(re.findall(r"(\w+) --> (\w+)", text)) == arrows
