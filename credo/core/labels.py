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
    "joint",  # number columns that covary, of the rows with one pattern of missing cells
    "completed",  # the same, where EM fills in what it expects of missing cells
    "known",  # cells of columns that covary, each column by itself, where others are filled in
    "one-hot",  # all columns as features that covary
    "family",  # a column's cells together with those of its parents
    "pairs",  # of all columns' cells, in one row
    "texts",  # texts of a column that aren't missing
    "documents",  # that hold each word
    "logs",  # logarithms of how often a document holds each word
    "odds",  # the same, over the norm of the document
    "leaves",  # rows of each class in each leaf of a tree
    "noise",  # rows with the weights of Student-t noise
    "missing information",  # of a network node's counts that EM expected, in rows
    "causes",  # the effects that EM expects of each cause of a noisy node
    "hidden",  # rows that EM read, none of which knew a variable
    "initial",  # first states of sequences
    "transitions",  # states that follow states
]


class Label(NamedTuple):
    """What a part of the evidence counts, of which column, of what is derived from it, and in which rows.

    Labels are equal, ordered and hashed by their fields; a column may have any name.

    >>> Label("column", "(rows)") == Label("rows")
    False
    """

    counted: Counted
    name: str = ""  # of the column or the network's node; "" where it is about several or none
    derived: Derivation = ""  # from the column
    pattern: tuple[bool, ...] = ()  # of "joint": which columns are known


ROWS, UNLABELLED, UNGROUPED = Label("rows"), Label("unlabelled"), Label("ungrouped")
