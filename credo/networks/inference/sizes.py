"""Methods of inference, and the memory of an exact answer, checked before any table is built."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Literal, NamedTuple, TypedDict, get_args

from credo.errors import NetworkError, SizeError, suggest
from credo.networks.inference.memory import ANSWER_MEMORY, setting

Method = Literal["auto", "exact", "likelihood-weighting", "gibbs", "forward", "loopy"]
EXACT, LIKELIHOOD_WEIGHTING = "exact", "likelihood-weighting"
SAMPLES, ROW_SAMPLES = 100_000, 10_000  # default samples of an estimate, and of the estimate for one row of a table
SAMPLES_AT_ONCE = 2**14  # samples drawn at a time
FEWEST_RELIABLE_SAMPLES = 100.0  # effective samples of likelihood weighting for which standard errors are reliable

KEPT_PRODUCT = 2**25  # largest product of constant factors, in cells, that a tree keeps
UNCHECKED_NUMBERS = 2**10  # smaller tables surely fit: asking how much memory is free takes time
LARGEST_QUERY_TABLE = 2**20  # cells of a joint table that a query returns
MEMORY_LIMIT = 8 * 2**30  # bytes of one answer, unless CREDO_MEMORY sets another limit


class Sampling(NamedTuple):
    """The method of an answer, and the samples and the seed of its estimates."""

    method: str
    samples: int
    seed: int


class InferenceOptions(TypedDict, total=False):
    """How an answer is found: the options of queries."""

    method: Method
    samples: int
    seed: int


def check_size(cells: float) -> None:
    """Refuse tables that don't fit in memory, before they are built."""
    need = cells * (16 if cells <= KEPT_PRODUCT else 8) * 1.1  # separators and workspaces take little more
    have = available()
    if need > have:
        raise SizeError(
            f"an exact answer needs {size_text(need)} for its tables; {size_text(have)} may be used; more evidence "
            'makes tables smaller, and method="auto" estimates'
        )


def check_table(card: Sequence[int]) -> None:
    """Refuse a joint table that is too large to be useful."""
    if prod(card) > LARGEST_QUERY_TABLE:
        raise SizeError(f"the joint table of {len(card)} variables has {prod(card):.3g} cells: ask for fewer together")


def check_numbers(what: str, count: int) -> None:
    """Refuse a table that doesn't fit in memory, before it is built."""
    if (count > UNCHECKED_NUMBERS or ANSWER_MEMORY in os.environ) and 8 * count > available():
        numbers = f"{count:.3g} numbers, {size_text(8 * count)}"
        raise SizeError(f"{what} has {numbers}; {size_text(available())} may be used; CREDO_MEMORY sets another limit")


def available() -> float:
    """Bytes that tables may take: three quarters of free memory, and at most MEMORY_LIMIT or CREDO_MEMORY."""
    try:
        with open("/proc/meminfo") as file:  # noqa: PTH123 - a pseudo-file
            free = next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        pages = getattr(os, "sysconf", lambda _: 0)
        free = pages("SC_PHYS_PAGES") * pages("SC_PAGE_SIZE") or MEMORY_LIMIT
    return min(setting(ANSWER_MEMORY, MEMORY_LIMIT), 0.75 * free)


def size_text(size: float) -> str:
    """Bytes, for people.

    >>> size_text(3.2e9), size_text(1e30)
    ('3.0 GB', '9.3e+20 GB')
    """
    return f"{size / 2**30:.1f} GB" if size < 1e15 else f"{size / 2**30:.2g} GB"


def needed(error: SizeError) -> str:
    """The part of a SizeError with the memory that an exact answer takes."""
    return str(error).partition(";")[0]


@contextmanager
def exact_only(what: str) -> Iterator[None]:
    """Refuse to estimate an answer that would lose its standard errors."""
    try:
        yield
    except SizeError as error:
        raise SizeError(f"{needed(error)}, and {what}") from None


def is_exact(method: str) -> bool:
    """Whether a method starts with the exact answer; an unknown method is an error."""
    if method in ("auto", "exact"):
        return True
    if method not in get_args(Method):
        raise NetworkError(f"there is no method {method!r}; {suggest(method, get_args(Method))}")
    return False
