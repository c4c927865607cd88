"""credo.read: data of any form, with reading options."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

from credo.data import Source, opened
from credo.data.string_columns import typed
from credo.errors import DataError


def read(
    data: object,
    *,
    missing: Sequence[object] = (),
    delimiter: str | None = None,
    format: str | None = None,  # noqa: A002 - what everyone calls it
) -> Source:
    """Data with reading options, for any function that takes data. Cells equal to one of `missing` ("unknown", -999)
    are missing, in all columns.

    `delimiter` is that of a .csv or .tsv file, if it isn't recognised; `format` that of a file without a
    known extension: csv, tsv, jsonl, parquet or arrow.

    >>> rows = {"sky": ["sun", "unknown"], "wind": [3.5, -999]}
    >>> next(read(rows, missing=["unknown", -999]).batches(["sky", "wind"])).columns["wind"].to_pylist()
    [3.5, None]
    """
    if isinstance(missing, str) or not isinstance(missing, Sequence | set | frozenset):
        raise DataError(f"missing must be a list of values, as ['unknown', -999], but is {missing!r:.60}")
    if delimiter is not None:
        delimiter = checked_delimiter(delimiter)
    if isinstance(data, str | PathLike):
        from credo.data.files import open_files

        found = open_files(data, delimiter, format)
    else:
        if delimiter is not None or format is not None:
            raise DataError("a delimiter and a format are for files, but this is a table")
        found = opened(data)
    if isinstance(data, Source) and not missing:
        return data
    return found if found.plain and not missing else typed(found, missing)


DELIMITER_NAMES = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}


def checked_delimiter(delimiter: str) -> str:
    """The delimiter, one character, given as such or by its name.

    >>> checked_delimiter("tab")
    '\\t'
    """
    found = DELIMITER_NAMES.get(delimiter, delimiter) if isinstance(delimiter, str) else ""
    if len(found) != 1 or found in '"\r\n\0':
        raise DataError(
            f"a delimiter is one character, or one of {', '.join(DELIMITER_NAMES)}, but is {delimiter!r:.60}"
        )
    return found
