# Written by tests/stubs.py.
# mypy: disable-error-code="override,overload-overlap"
from .judging import Verdict as Verdict, judge as judge
from .notebook import check as check, hint as hint, predict as predict, progress as progress, solution as solution, working as working
from .tiny import check_tiny as check_tiny, start_tiny as start_tiny, working_tiny as working_tiny
