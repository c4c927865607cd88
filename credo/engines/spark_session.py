"""Sessions of Spark that credo starts itself, for one command or one run of the tests."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from credo.engines import java
from credo.errors import EngineError

HERE = {"spark.driver.host": "127.0.0.1", "spark.ui.enabled": "false"}  # a cluster of this machine alone
QUIET = {"spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
# Java that lives for a minute and hands rows over: compiling queries costs more than it gains.
BRIEF = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@contextmanager
def started(master: str, options: Mapping[str, str], remote: bool = False) -> Iterator[Any]:
    """A session, until the block ends, with Java from where there is one; `remote`: of Spark Connect."""
    if not java.is_there():
        raise EngineError("Spark needs Java: install one, or pip install 'credo-bayes[spark]'")
    from py4j.protocol import Py4JError
    from pyspark.sql import SparkSession

    with java.provided(), quiet_gateway():
        builder = SparkSession.builder.appName("credo")
        builder = builder.remote(master) if remote else builder.master(master)
        for name, value in {**QUIET, **options}.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        try:
            yield session
        except Py4JError as error:
            if interrupts(error):
                raise KeyboardInterrupt from None
            raise
        finally:
            with suppress(Py4JError):  # after an interrupt Java may not listen; it ends with this process
                session.stop()


def interrupts(error: BaseException | None) -> bool:
    """Whether it came of an interrupt, which the gateway to Java failed to pass on."""
    return error is not None and (isinstance(error, KeyboardInterrupt) or interrupts(error.__context__))


@contextmanager
def quiet_gateway() -> Iterator[None]:
    """What speaks with Java logs an interrupt with its traceback, though the interrupt is raised as well."""

    def of_others(record: logging.LogRecord) -> bool:
        return "py4j" not in record.pathname

    root = logging.getLogger()
    root.addFilter(of_others)
    try:
        yield
    finally:
        root.removeFilter(of_others)
