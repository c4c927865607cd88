"""Dask without a cluster: threads of this process."""

from __future__ import annotations

import numpy as np
import pytest

import credo
from credo import engines
from tests.engines.verbs import QUICK, dask_frame, local, parts_of, table
from tests.laws.test_engines import evidence_bits

pytest.importorskip("dask.dataframe", reason="Dask isn't installed: pip install 'credo-bayes[dask]'")


@pytest.mark.filterwarnings("ignore::credo.Notice")
def test_a_frame_without_a_cluster_gives_the_same_bits() -> None:
    parts = parts_of(table())
    assert engines.Dask().client is None
    assert QUICK["fitted"](dask_frame(parts)) == QUICK["fitted"](local(parts))


def test_arrays_that_came_over_the_network_may_begin_at_any_byte() -> None:
    x = np.random.default_rng(0).normal(size=50)
    shifted = np.frombuffer(b"-" + x.tobytes(), dtype=np.float64, offset=1)
    assert not shifted.flags.aligned
    prior = credo.NormalInverseGamma(0, 1, 1, 1)
    assert evidence_bits(prior.update(shifted)) == evidence_bits(prior.update(x))
