"""One browser for all tests of the explorer's page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.explorer.browsing import ARGUMENTS, CHROMIUM


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield found
        found.close()
