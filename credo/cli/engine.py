"""--engine: where the work runs. A cluster that a command starts is stopped when the command ends."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from credo.cli.options import Command

if TYPE_CHECKING:
    from credo.engines import Engine

ENGINE_KEY = "credo.cli.engine"  # the option's key in the context of the command
ENGINE_HELP = (
    "Engine: dask or spark (a local cluster), or the address of a cluster, dask://host:8786, spark://host:7077."
)


def runs_on_engines(command: Command) -> Command:
    """The option of a command whose jobs may run elsewhere: `opened_data` starts the engine."""

    def keep(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
        if value is not None and value.partition("://")[0] not in STARTS:
            raise click.BadParameter(f"{value!r} is neither dask nor spark, nor an address of one", ctx, param)
        ctx.meta[ENGINE_KEY] = value

    return click.option("--engine", metavar="ENGINE", expose_value=False, callback=keep, help=ENGINE_HELP)(command)


def asked_for(ctx: click.Context) -> bool:
    """Whether --engine was given."""
    return ctx.meta.get(ENGINE_KEY) is not None


def start(ctx: click.Context) -> None:
    """Start the requested engine; it stops when the command ends."""
    if (value := ctx.meta.get(ENGINE_KEY)) is not None:
        ctx.meta[ENGINE_KEY + ".started"] = ctx.meta.get(ENGINE_KEY + ".started") or ctx.with_resource(_used(value))


@contextmanager
def _used(value: str) -> Iterator[bool]:
    from credo import engines

    name, _, address = value.partition("://")
    with STARTS[name](address) as engine, engines.using(engine):
        yield True


@contextmanager
def _dask(address: str) -> Iterator[Engine]:
    from credo import engines

    engine = engines.Dask  # an error, if it isn't installed
    from distributed import Client, LocalCluster

    from credo.engines.local import workers
    from credo.errors import EngineError

    if address:
        try:
            with Client(f"tcp://{address}") as client:
                yield engine(client)
        except OSError as error:
            raise EngineError(f"no Dask scheduler answers at {address}: {error}") from None
        return
    own = {"n_workers": workers(), "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    try:
        cluster = LocalCluster(**own, silence_logs=50)
    except BaseException:  # Dask would print a traceback at exit for a half-started cluster
        from distributed.deploy.spec import close_clusters

        atexit.unregister(close_clusters)
        raise
    with cluster, Client(cluster) as client:
        yield engine(client)


@contextmanager
def _spark(address: str) -> Iterator[Engine]:
    from credo import engines
    from credo.cli.imports import with_pandas

    with_pandas()  # Spark checks for it before it transfers rows as Arrow
    engine = engines.Spark
    from credo.engines.spark_session import BRIEF, LOCAL_SETTINGS, started

    master = f"spark://{address}" if address else "local[*]"
    with started(master, BRIEF if address else {**BRIEF, **LOCAL_SETTINGS}) as session:
        yield engine(session)


STARTS: dict[str, Callable[[str], Any]] = {"dask": _dask, "spark": _spark}
