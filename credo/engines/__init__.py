"""Engines map batches to statistics and add them up in the batches' order. The local one is the default."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from credo.engines import local


class Engine(Protocol):
    """total(summarise(batch) for each batch), or None where there are no batches."""

    def reduce(
        self, summarise: Callable[[Any], Any], batches: Iterable[Any], total: Callable[[Sequence[Any]], Any], /
    ) -> Any: ...


class Local:
    """Threads of this process."""

    reduce = staticmethod(local.reduce)


class Serial:
    """One batch after another, without threads: for a few small ones, to which starting threads would be the work."""

    def reduce(
        self, summarise: Callable[[Any], Any], batches: Iterable[Any], total: Callable[[Sequence[Any]], Any], /
    ) -> Any:
        done = [summarise(batch) for batch in batches]
        return total(done) if done else None


_engine: ContextVar[Engine | None] = ContextVar("engine", default=None)


def current() -> Engine:
    """The engine that learning runs on."""
    return _engine.get() or Local()


@contextmanager
def using(engine: Engine) -> Iterator[None]:
    """Learn on another engine, inside a with block."""
    token = _engine.set(engine)
    try:
        yield
    finally:
        _engine.reset(token)
