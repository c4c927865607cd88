"""Laws hold on every engine: those about learning and prediction run on other processes, too (`make test-all`)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from credo import engines
from tests.processes import Processes

VERBS = {"classifiers", "dates", "em", "empirical", "families", "forgetting", "learn", "text", "trust", "verbs"}


@pytest.fixture(scope="session")
def processes() -> Iterator[Processes]:
    """Two workers, for all tests."""
    with Processes() as engine:
        yield engine


@pytest.fixture(autouse=True)
def _engine(request: pytest.FixtureRequest) -> Iterator[None]:
    if getattr(request, "param", "local") == "local":
        yield
        return
    with engines.using(request.getfixturevalue("processes")):
        yield


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Laws that concern estimate, fit, learn, cross_validate and predict."""
    if metafunc.module.__name__.rpartition("test_")[2] in VERBS:
        both = ["local", pytest.param("processes", marks=pytest.mark.slow)]
        metafunc.parametrize("_engine", both, indirect=True)
