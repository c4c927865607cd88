"""Sessions of Spark that credo starts itself, for one command or one run of the tests."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
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
    from pyspark.sql import SparkSession

    logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)  # an interrupt would be a traceback of its own there
    with java.provided():
        builder = SparkSession.builder.appName("credo")
        builder = builder.remote(master) if remote else builder.master(master)
        for name, value in {**QUIET, **options}.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        try:
            yield session
        finally:
            session.stop()
