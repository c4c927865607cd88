"""Modules whose doctests need an optional package, where it isn't installed; tests/engines skips, and says so."""

from __future__ import annotations

from importlib.util import find_spec

NEEDING = {
    "distributed": ("credo/engines/dask.py", "credo/data/dask_frames.py"),
    "pyspark": ("credo/engines/spark.py", "credo/data/spark_frames.py"),
}
collect_ignore = [path for package, paths in NEEDING.items() if find_spec(package) is None for path in paths]
