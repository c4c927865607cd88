"""DataFrames that live on a cluster: recognised by the name of their type's module, so that nothing is imported."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from credo.data.sources import Source

OPENERS = {"dask.dataframe": "credo.data.dask_frames", "pyspark.sql": "credo.data.spark_frames"}


def open_frame(data: object) -> Source | None:
    """A Dask or Spark DataFrame, whose rows stay where they are; None if it is neither."""
    module = type(data).__module__
    for package, opener in OPENERS.items():
        if module == package or module.startswith(f"{package}."):
            found: Source = import_module(opener).open_frame(data)
            return found
    return None


def lives_elsewhere(data: Any) -> bool:
    """Whether it is such a frame, or a source made of one."""
    return data.home is not None if isinstance(data, Source) else open_frame(data) is not None
