"""Dask without a cluster: threads of this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import credo
from credo import engines
from tests.engines.verbs import LONG, QUICK, dask_frame, learned_number, local, parts_of, table
from tests.laws.test_engines import evidence_bits

pytest.importorskip("dask.dataframe", reason="Dask isn't installed: pip install 'credo-bayes[dask]'")


@pytest.mark.filterwarnings("ignore::credo.Notice")
def test_a_frame_without_a_cluster_gives_the_same_bits() -> None:
    parts = parts_of(table())
    assert engines.Dask().client is None
    assert QUICK["fitted"](dask_frame(parts)) == QUICK["fitted"](local(parts))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::credo.Notice")
@pytest.mark.parametrize("verb", [*QUICK.values(), *LONG.values(), learned_number])
def test_rows_stay_where_they_are(verb: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is learned, the driver reads no partition; and the bits are those of local rows."""
    from credo.engines.dask import DaskPiece

    parts = parts_of(table())
    monkeypatch.setattr(DaskPiece, "rows", property(lambda _: pytest.fail("a partition was read by the driver")))
    assert verb(dask_frame(parts)) == verb(local(parts))


def test_arrays_that_came_over_the_network_may_begin_at_any_byte() -> None:
    x = np.random.default_rng(0).normal(size=50)
    shifted = np.frombuffer(b"-" + x.tobytes(), dtype=np.float64, offset=1)
    assert not shifted.flags.aligned
    prior = credo.NormalInverseGamma(0, 1, 1, 1)
    assert evidence_bits(prior.update(shifted)) == evidence_bits(prior.update(x))
