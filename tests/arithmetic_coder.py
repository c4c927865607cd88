"""An arithmetic coder: it reaches the code length Σ −log2 P(symbol | what came before) to within 2 bits.

Integer registers (Witten, Neal and Cleary 1987), so wide that rounding costs less than 2⁻⁴⁰ bits a symbol. Each symbol
comes with the distribution that sender and receiver share at that time; the decoder must be given the same one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

TOTAL = 1 << 48  # what the frequencies of one distribution add up to
REGISTER = 96  # bits; an interval is never narrower than a quarter of it
WHOLE, HALF, QUARTER = 1 << REGISTER, 1 << REGISTER - 1, 1 << REGISTER - 2

Distribution = Sequence[float] | NDArray[np.float64]


def encode(symbols: Iterable[int], distributions: Iterable[Distribution]) -> list[int]:
    """The bits of symbols, each coded by its own distribution. A symbol of probability 0 can't be coded."""
    bits: list[int] = []
    low, high, pending = 0, WHOLE, 0  # the interval [low, high); bits that wait for the next one, and are its opposite

    def emit(bit: int) -> None:
        bits.extend([bit] + [1 - bit] * pending)

    for symbol, distribution in zip(symbols, distributions, strict=True):
        low, high = _within(low, high, _edges(distribution), symbol)
        while True:
            if high <= HALF:
                emit(0)
            elif low >= HALF:
                emit(1)
                low, high = low - HALF, high - HALF
            elif low >= QUARTER and high <= HALF + QUARTER:
                pending += 1
                low, high = 2 * (low - QUARTER), 2 * (high - QUARTER)
                continue
            else:
                break
            pending = 0
            low, high = 2 * low, 2 * high
    pending += 1
    emit(0 if low < QUARTER else 1)  # 01... or 10... lies inside whatever follows
    return bits


def decode(bits: Sequence[int], count: int, distribution: Callable[[list[int]], Distribution]) -> list[int]:
    """The symbols again; `distribution` says, of the symbols so far, what is expected next."""
    stream = iter(bits)
    low, high = 0, WHOLE
    value = sum(next(stream, 0) << place for place in reversed(range(REGISTER)))
    symbols: list[int] = []
    for _ in range(count):
        edges = _edges(distribution(symbols))
        scaled = ((value - low + 1) * TOTAL - 1) // (high - low)
        symbol = int(np.searchsorted(edges, scaled, side="right")) - 1
        symbols.append(symbol)
        low, high = _within(low, high, edges, symbol)
        while True:
            if high <= HALF:
                shift = 0
            elif low >= HALF:
                shift = HALF
            elif low >= QUARTER and high <= HALF + QUARTER:
                shift = QUARTER
            else:
                break
            low, high = 2 * (low - shift), 2 * (high - shift)
            value = 2 * (value - shift) + next(stream, 0)
    return symbols


def _within(low: int, high: int, edges: NDArray[np.int64], symbol: int) -> tuple[int, int]:
    """The part of an interval that belongs to a symbol."""
    width, first, last = high - low, int(edges[symbol]), int(edges[symbol + 1])
    if last <= first:
        raise ValueError(f"symbol {symbol} has probability 0 and can't be coded")
    return low + width * first // TOTAL, low + width * last // TOTAL


def _edges(distribution: Distribution) -> NDArray[np.int64]:
    """Cumulative frequencies from 0 to TOTAL: whatever has a probability above 0 gets at least 1 of them."""
    p = np.asarray(distribution, dtype=np.float64)
    if not (p >= 0).all() or not np.isclose(p.sum(), 1, rtol=1e-6):
        raise ValueError(f"a distribution must be at least 0 and sum to 1, but is {p!r:.80}")
    frequencies = np.maximum((p / p.sum() * TOTAL).astype(np.int64), p > 0)
    frequencies[int(frequencies.argmax())] += TOTAL - int(frequencies.sum())
    return np.concatenate([[0], np.cumsum(frequencies)])
