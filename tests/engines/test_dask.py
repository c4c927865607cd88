"""On Dask, with two worker processes: the bits of the local engine for the same partitions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from credo import engines
from tests.engines.verbs import LONG, QUICK, dask_frame, local, parts_of, table
from tests.laws.test_engines import VERBS, as_form

pytest.importorskip("dask.dataframe", reason="Dask isn't installed: pip install 'credo-bayes[dask]'")
pytestmark = [pytest.mark.filterwarnings("ignore::credo.Notice"), pytest.mark.filterwarnings("default::FutureWarning")]


@pytest.fixture(scope="module")
def parts() -> list[pd.DataFrame]:
    return parts_of(table())


@pytest.mark.parametrize("verb", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in LONG)])
def test_a_frame_gives_the_same_bits(verb: str, parts: list[pd.DataFrame], dask_client: Any) -> None:
    run = {**QUICK, **LONG}[verb]
    assert dask_client.scheduler_info()["n_workers"] == 2
    assert run(dask_frame(parts)) == run(local(parts))


@pytest.mark.parametrize(
    "verb", [pytest.param(name, marks=() if name == "fitted" else pytest.mark.slow) for name in VERBS]
)
def test_files_give_the_same_bits(verb: str, tmp_path: Path, dask_client: Any) -> None:
    data = as_form("parquet", tmp_path)
    here = VERBS[verb](data)
    with engines.using(engines.Dask(dask_client)):
        assert VERBS[verb](data) == here
