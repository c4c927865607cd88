"""Clusters of the engines' own, on this machine alone; each is stopped when the tests that use it are done."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.engines.verbs import SMALL


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("credo.data.cutting.BATCH_ROWS", SMALL)
    monkeypatch.setattr("credo.data.files.BATCH_ROWS", SMALL)
    monkeypatch.setattr("credo.data.partitions.BYTES", 1)


def cut_small() -> None:
    """Workers cut batches as small as the tests do."""
    from credo.data import cutting

    cutting.BATCH_ROWS = SMALL


@pytest.fixture(scope="module")
def dask_client() -> Iterator[Any]:
    """Two worker processes, each of two threads."""
    distributed = pytest.importorskip("distributed", reason="Dask isn't installed: pip install 'credo-bayes[dask]'")
    import dask

    class CutSmall(distributed.WorkerPlugin):  # type: ignore[misc,name-defined]
        def setup(self, worker: Any) -> None:  # noqa: ARG002 - Dask's name
            cut_small()

    with (
        dask.config.set({"distributed.scheduler.active-memory-manager.start": False}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=2, host="127.0.0.1", dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.register_plugin(CutSmall(), name="small batches")
        yield client
