"""Tests are the same on every machine and in every run; `make fuzz` explores (see tests/seeds.py)."""

from __future__ import annotations

import os
import secrets
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from tests.seeds import SEED, base_seed, effort, examples

OWN = "_hypothesis_internal_use_settings"  # under which a test keeps what @settings said

LOADED: dict[tuple[str, str], Any] = {}  # states of generators, by their modules and names

settings.register_profile("same", derandomize=True, database=None, deadline=None, print_blob=True)
settings.register_profile("fuzz", derandomize=False, deadline=None, print_blob=True)


def pytest_configure(config: pytest.Config) -> None:  # noqa: ARG001
    if effort():
        os.environ.setdefault(SEED, str(secrets.randbelow(10**9)))  # which workers inherit


def pytest_report_header(config: pytest.Config) -> str | None:  # noqa: ARG001
    return f"fuzz: {effort()} times as many examples, from seed {base_seed()}" if effort() else None


@pytest.fixture(autouse=True)
def _same_draws(request: pytest.FixtureRequest) -> None:
    """A module's generators begin where they were when it was loaded: tests don't depend on those that ran before."""
    for name, value in vars(request.module).items():
        if isinstance(value, np.random.Generator):
            key = request.module.__name__, name
            value.bit_generator.state = LOADED.setdefault(key, value.bit_generator.state)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """More examples than each test asks for, where we explore."""
    tests = {id(test): test for item in items if hasattr(test := getattr(item, "obj", None), OWN)}
    for test in tests.values() if effort() else ():
        own = getattr(test, OWN)
        setattr(test, OWN, settings(own, max_examples=examples(own.max_examples)))


settings.load_profile("fuzz" if effort() else "same")
