"""Dask without a cluster: threads of this process."""

from __future__ import annotations

import pytest

from credo import engines
from tests.engines.verbs import QUICK, dask_frame, local, parts_of, table

pytest.importorskip("dask.dataframe", reason="Dask isn't installed: pip install 'credo-bayes[dask]'")


@pytest.mark.filterwarnings("ignore::credo.Notice")
def test_a_frame_without_a_cluster_gives_the_same_bits() -> None:
    parts = parts_of(table())
    assert engines.Dask().client is None
    assert QUICK["fitted"](dask_frame(parts)) == QUICK["fitted"](local(parts))
