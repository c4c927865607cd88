"""Hypotheses: the prior and the posterior of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from credo.errors import counted
from credo.present.content import Content, Drawing, Paragraph, Table, TableColumn
from credo.present.numbers import one_line

if TYPE_CHECKING:
    from credo.models.hypotheses import Hypotheses

TOP, NAME = 20, 60  # hypotheses that are listed; characters of each


def hypotheses_content(found: Hypotheses, top: int | None = None) -> list[Content]:
    """The most probable ones first."""
    order = np.argsort(-found.probabilities, kind="stable")[: top or TOP].tolist()
    posterior = [float(found.probabilities[i]) for i in order]
    columns = [
        TableColumn("hypothesis", [one_line(str(found.hypotheses[i]), NAME) for i in order]),
        TableColumn("prior", [float(found.prior[i]) for i in order], ".4g"),
        TableColumn("posterior", posterior, ".4g"),
    ]
    title = f"{counted(len(found), 'hypothesis')}, after {counted(found.n, 'observation')}"
    more = len(found) - len(order)
    rest = [Paragraph(f"{more:,} more", "note")] if more else []
    return [Paragraph(title, "title"), Table(columns, Drawing("bars", posterior, most=1.0, widest=20)), *rest]
