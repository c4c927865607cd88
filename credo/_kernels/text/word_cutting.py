"""Documents cut into words: the first two steps of `words`, clean and cut."""

# mypy: disable-error-code="no-any-return, assignment, arg-type, return-value"
# (NumPy's integers and Python's are the same for Numba.)

from __future__ import annotations

import numpy as np

from credo._kernels.arrays import Codes, Integers
from credo._kernels.jit import kernel
from credo._kernels.text.word_arrays import NONE, ONE, WIDTHS, Bytes, Key, Scratch, Text, Truths


@kernel
def mark_non_ascii(text: Bytes, starts: Integers, ends: Integers, out: Truths) -> None:
    """out = whether each document isn't ASCII."""
    for d in range(len(starts)):
        union, start = np.uint8(0), Key(starts[d])
        for i in range(ends[d] - starts[d]):
            union |= text[start + Key(i)]
        out[d] = union > 127


@kernel
def clean_ascii(text: Bytes, start: int, end: int, letters: Bytes, clean: Bytes, at: int) -> None:
    """clean = the lower-case letters of ASCII characters, 0 between words."""
    i, stop, apart = Key(start), Key(end), Key(at) - Key(start)
    while i < stop:
        clean[apart + i] = letters[text[i]]
        i += ONE


@kernel
def clean_utf8(text: Bytes, start: int, end: int, letters: Bytes, alphabet: Truths, clean: Bytes, at: int) -> int:
    """`clean_ascii` for UTF-8, without a character that crosses the end. The result is the number of bytes."""
    i, apart = start, at - start
    while i < end:
        b = np.int64(text[i])
        width = np.int64(WIDTHS[b])
        if i + width > end:
            break
        if width == 1:
            clean[apart + i] = letters[b]
        else:
            code = b & (0x7F >> width)
            for k in range(i + 1, i + width):
                code = code << 6 | np.int64(text[k]) & 0x3F
            inside = code < len(alphabet) and alphabet[code]
            for k in range(i, i + width):
                clean[apart + k] = text[k] if inside else 0
        i += width
    return i - start


@kernel
def clean_piece(text: Text, d: int, done: int, scratch: Scratch) -> tuple[int, int, int]:
    """Clean documents, starting at d, of which `done` bytes are done. The result is the number of bytes in the piece,
    the next document, and the bytes of it that are done.

    Each is followed by 0. A document that doesn't fit is left for later, unless it is the first: then all words that
    fit are taken.
    """
    ascii_bytes, utf8_bytes, starts, ends, not_ascii, letters, alphabet = text
    clean, _, limits, edges, _, _, _, _, _ = scratch
    filled, first, room = NONE, d, len(edges)
    while d < len(starts):
        start, end = starts[d] + done, ends[d]
        whole = filled + end - start < room
        if not whole and d > first:
            break
        end = end if whole else start + room
        if not_ascii[d]:
            filled += clean_utf8(utf8_bytes, start, end, letters, alphabet, clean, filled)
        else:
            clean_ascii(ascii_bytes, start, end, letters, clean, filled)
            filled += end - start
        if not whole:
            while filled > 0 and clean[filled - 1]:
                filled -= 1
            limits[0] = filled
            return filled, d, done + filled
        clean[filled] = 0
        filled += 1
        limits[d - first] = filled
        d, done = d + 1, 0
    return filled, d, 0


@kernel
def cut_piece(clean: Bytes, n: int, edges: Codes) -> int:
    """edges = the starts and ends of words in n clean bytes, the last of which is 0. The result is their number."""
    found, inside = 0, False
    for i in range(n):
        edges[found] = i  # branchless, since it can't be predicted
        found += (clean[i] != 0) != inside
        inside = clean[i] != 0
    return found
