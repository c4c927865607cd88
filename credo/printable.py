"""What a terminal would obey, taken out of words that are printed."""

from __future__ import annotations

import re

# C0 but line feed and tab, DEL, C1; marks that turn the direction of writing; halves of surrogate pairs.
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """The text with a replacement character for each that commands a terminal instead of being shown.

    >>> printable("caf\u00e9 \\x1b[31mred\\n")
    'café �[31mred\\n'
    """
    return OBEYED.sub("�", text)
