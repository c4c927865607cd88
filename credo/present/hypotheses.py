"""Hypotheses: the prior and the posterior of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from credo.errors import counted
from credo.present.content import Content, Drawing, Paragraph, Table, TableColumn
from credo.present.limits import TABLE_LINES
from credo.present.numbers import one_line

if TYPE_CHECKING:
    from credo.models.concepts.evolution import ConceptEvolution
    from credo.models.hypotheses import Evolution, Hypotheses

HYPOTHESIS_CHARACTERS = 60  # of a hypothesis
HYPOTHESIS_COLUMNS = 10  # in a table of the evolution


def hypotheses_content(found: Hypotheses, top: int | None = None) -> list[Content]:
    """Prior and posterior of the hypotheses, the most probable first."""
    order = np.argsort(-found.probabilities, kind="stable")[: top or TABLE_LINES].tolist()
    posterior = [float(found.probabilities[i]) for i in order]
    columns = [
        TableColumn("hypothesis", [one_line(str(found.hypotheses[i]), HYPOTHESIS_CHARACTERS) for i in order]),
        TableColumn("prior", [float(found.prior[i]) for i in order], ".4g"),
        TableColumn("posterior", posterior, ".4g"),
    ]
    title = f"{counted(len(found), 'hypothesis')}, after {counted(found.n, 'observation')}"
    more = len(found) - len(order)
    rest = [Paragraph(f"{more:,} more", "note")] if more else []
    return [Paragraph(title, "title"), Table(columns, Drawing("bars", posterior, most=1.0, widest=20)), *rest]


def evolution_content(found: Evolution, top: int | None = None) -> list[Content]:
    """A row for each number of data, a column for each of the hypotheses that end most probable."""
    order = np.sort(np.argsort(-found.probabilities[-1], kind="stable")[:HYPOTHESIS_COLUMNS]).tolist()
    rows = min(len(found), top or TABLE_LINES)
    columns = [TableColumn("data", range(rows), "count")]
    columns += [
        TableColumn(one_line(str(found.hypotheses[i])), found.probabilities[:rows, i].tolist(), ".4f") for i in order
    ]
    return [
        Table(columns),
        *_more(found.probabilities.shape[1] - len(order), "hypotheses"),
        *_more(len(found) - rows, "data"),
    ]


def concept_evolution_content(found: ConceptEvolution, top: int | None = None) -> list[Content]:
    """A row for each number of rows: the version space, and the most probable concept."""
    columns = found.table().slice(0, top or TABLE_LINES).to_pydict()
    table = Table([TableColumn(name, [*map(_cell_text, cells)], "cell") for name, cells in columns.items()])
    return [table, *_more(len(found) - len(table.columns[0].cells), "rows")]


def _cell_text(cell: object) -> object:
    return ", ".join(map(str, cell)) if isinstance(cell, list) else cell


def _more(left: int, noun: str) -> list[Content]:
    return [Paragraph(f"{left:,} more {noun}", "note")] if left > 0 else []
