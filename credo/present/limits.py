"""Default limits of what is printed and drawn. On the command line, --top changes the number of lines."""

from __future__ import annotations

TABLE_LINES = 20  # of a table
STRONGEST_LINES = 15  # columns, weights or words, the strongest first
LISTING_LINES = 100  # columns of a table, variables of a network, nodes of a tree
REPR_LINES = 40  # of a graph or a diagram in a repr
REPR_CHARACTERS = 110  # of a line in a repr
LIST_CHARACTERS = 200  # of a cell with several names
CLASS_CHARACTERS = 20  # of a class's name
NAMED_CLASSES = 6  # that a summary lists with their numbers of rows
DRAWN_CLASSES = 6  # in a picture
