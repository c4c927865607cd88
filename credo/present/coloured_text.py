"""Texts whose words are coloured by their weights of evidence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from credo.asking.protocol import WordWeight
from credo.numerics.arrays import Positions
from credo.numerics.exact import Array

TEXT_CHARACTERS = 1500  # of a text on a page
PALEST_SHARE = 1 / 20  # of the largest weight: words below it aren't coloured
INFINITE_NATS = 50.0  # infinite weights are drawn as this
NOT_IN_HTML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")  # not allowed in a page


class ColouredPiece(NamedTuple):
    """A part of a text, and its weight of evidence."""

    text: str
    weight: float


def pieces(text: str, words: Sequence[WordWeight]) -> list[ColouredPiece]:
    """The text in pieces, cut where words begin and end; a word's weight is spread evenly over its characters.

    >>> city = [("new york", 2.0, (3, 11)), ("new", 1.0, (3, 6)), ("york", -1.0, (7, 11))]
    >>> words = [WordWeight(word=word, weight=weight, places=[place]) for word, weight, place in city]
    >>> [(piece.text, round(piece.weight, 2)) for piece in pieces("in New York", words)]
    [('in ', 0.0), ('New', 1.75), (' ', 0.25), ('York', 0.0)]
    """
    cuts, weights = cut_weights(len(text), [(word["weight"], word["places"]) for word in words])
    ends = pairwise(cuts.tolist())
    return [ColouredPiece(text[a:b], weight) for (a, b), weight in zip(ends, weights.tolist(), strict=True)]


def cut_weights(length: int, words: Sequence[tuple[float, Sequence[tuple[int, int]]]]) -> tuple[Positions, Array]:
    """The cuts of a text of that length, and the weight of each piece. Words are given by weight and positions."""
    placed = [(own, start, end) for own, (_, spans) in enumerate(words) for start, end in spans if start < end]
    of, starts, ends = np.array(placed, np.intp).reshape(-1, 3).T
    per_word = np.bincount(of, ends - starts, len(words))
    each = np.clip([weight for weight, _ in words], -INFINITE_NATS, INFINITE_NATS) / np.maximum(per_word, 1)
    starts, ends = np.minimum(starts, length), np.minimum(ends, length)
    cuts = np.unique(np.concatenate([starts, ends, (0, length)])).astype(np.intp)
    # A position covers one piece, or several if pairs of words have weights, too.
    first, last = np.searchsorted(cuts, starts), np.searchsorted(cuts, ends)
    many = last - first
    covered = np.repeat(first - np.cumsum(many) + many, many) + np.arange(many.sum())
    density: Array = np.bincount(covered, np.repeat(each[of], many), len(cuts)).astype(np.float64)
    return cuts, density[:-1] * np.diff(cuts)


def coloured(text: str, words: Sequence[WordWeight]) -> str:
    """A text, its words coloured by their weights."""
    parts = pieces(NOT_IN_HTML.sub("·", text[:TEXT_CHARACTERS]), words)
    largest = max((abs(part.weight) for part in parts), default=0.0)
    shown = "".join(_piece(part, largest) for part in parts) + (" …" if len(text) > TEXT_CHARACTERS else "")
    return f'<p class="text" dir="auto">{shown}</p>'


def _piece(piece: ColouredPiece, largest: float) -> str:
    if abs(piece.weight) <= largest * PALEST_SHARE:
        return escape(piece.text)
    side, depth = "for" if piece.weight > 0 else "against", 0.1 + 0.55 * abs(piece.weight) / largest
    return f'<span class="{side}" style="--a:{depth:.2f}" title="{piece.weight:+.2f}">{escape(piece.text)}</span>'
