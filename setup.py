"""The one thing that pyproject.toml cannot say: the lessons travel inside the package.

They stand at the top of the repository, where GitHub shows them; a wheel
carries them as naive_graph/lessons. An editable install reads them in place.
"""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithLessons(build_py):
    """Build the package, then put the notebooks beside its modules."""

    def run(self):
        super().run()
        if not self.editable_mode:
            for lesson, copy in self._lessons():
                self.mkpath(str(copy.parent))
                self.copy_file(str(lesson), str(copy))

    def get_outputs(self, include_bytecode=True):
        lessons = [] if self.editable_mode else [str(copy) for _, copy in self._lessons()]
        return super().get_outputs(include_bytecode) + lessons

    def _lessons(self):
        folder = Path(self.build_lib, "naive_graph", "lessons")
        return [(lesson, folder / lesson.name) for lesson in sorted(Path("lessons").glob("*.ipynb"))]


setup(cmdclass={"build_py": BuildWithLessons})
