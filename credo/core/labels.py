"""Labels: what each part of the evidence counts."""

from __future__ import annotations

from typing import Literal, NamedTuple

from credo.data.schema import Derivation

Counted = Literal[
    "rows",  # of each class or group
    "unlabelled",  # rows without a class
    "ungrouped",  # rows without a group
    "column",  # a column's or a network node's cells, as its block or family summarises them
    "numbers",  # all number columns that are independent given the class
    "logarithms",  # of number columns
    "dates",  # as numbers
    "joint",  # correlated number columns, of the rows with one pattern of missing cells
    "completed",  # correlated number columns, with missing cells replaced by EM's expectations
    "known",  # known cells of correlated columns, by column, where EM replaces missing cells
    "one-hot",  # all columns as correlated features
    "family",  # a column's cells jointly with those of its parents
    "pairs",  # of all columns' cells, in one row
    "texts",  # texts of a column that aren't missing
    "documents",  # documents that contain each word
    "logs",  # logarithms of word counts in documents
    "odds",  # logarithms of word counts, divided by the document's norm
    "leaves",  # rows of each class in each leaf of a tree
    "noise",  # rows with the weights of Student-t noise
    "missing information",  # of a network node's counts that EM expected, in rows
    "causes",  # the effects that EM expects of each cause of a noisy node
    "hidden",  # rows that EM read, with a variable that none of them knows
    "initial",  # first states of sequences
    "transitions",  # states that follow states
]


class Label(NamedTuple):
    """The kind of statistics of a part of the evidence, its column, the derivation, and the pattern of rows.

    Labels are equal, ordered and hashed by their fields; a column may have any name.

    >>> Label("column", "(rows)") == Label("rows")
    False
    """

    counted: Counted
    name: str = ""  # of the column or the network's node; "" for several or none
    derived: Derivation = ""  # from the column
    pattern: tuple[bool, ...] = ()  # of "joint": which columns are known


ROWS, UNLABELLED, UNGROUPED = Label("rows"), Label("unlabelled"), Label("ungrouped")
