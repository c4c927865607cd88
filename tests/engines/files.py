"""Files that workers can't read: one clear error, on every engine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

import credo


def check_files_that_differ(parts: Sequence[pd.DataFrame], folder: Path) -> None:
    """On the current engine: a file that is corrupt, one of another schema, and one with a bad cell."""
    for i, part in enumerate((parts[0], parts[3], parts[4])):
        part[["z", "mass"]].to_parquet(folder / f"{i}.parquet")
    data, prior, other = str(folder / "*.parquet"), credo.NormalMean(0, 1, 1), folder / "1.parquet"
    assert credo.estimate(data, "z", prior=prior).n == 699
    pages = bytearray(other.read_bytes())
    at = pq.read_metadata(other).row_group(0).column(0).data_page_offset
    pages[at : at + 300] = b"\xff" * 300
    other.write_bytes(pages)
    with pytest.raises(credo.CredoError, match=r"1\.parquet|partition 2"):
        credo.estimate(data, "z", prior=prior)
    parts[3][["mass"]].to_parquet(other)
    with pytest.raises(credo.CredoError, match=r"1\.parquet"):
        credo.estimate(data, "z", prior=prior)
    parts[3][["z"]].assign(mass=[*parts[3]["mass"][:-2], -1.0, 1.0]).to_parquet(other)
    with pytest.raises(credo.DataError, match=r"that of row 478 is -1 \(partition \d+\)"):
        credo.estimate(data, "z", prior=prior, weight="mass")
