"""The progress of tests is kept apart from the learner's."""

import pytest


@pytest.fixture(autouse=True)
def data_apart(tmp_path, monkeypatch):
    monkeypatch.setenv("NAIVE_GRAPH_DATA", str(tmp_path / "data"))
