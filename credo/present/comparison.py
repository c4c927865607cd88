"""Two learning curves side by side, and which model to prefer at which size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo.present.content import GAP, Content, Drawing, Paragraph, Table, TableColumn
from credo.present.numbers import count_of, one_line

if TYPE_CHECKING:
    from credo.selection.comparison import CurveComparison

NEITHER_BETTER = "-"
DIFFERENCE = "difference ± 2 errors"
SIDES = ("generative", "discriminative")  # the names of the models would leave no room for their scores


def comparison_content(found: CurveComparison, data: str) -> list[Content]:
    """A line for each size: log-loss and accuracy of both models, the better one, and how far they are apart."""
    source = f"{data}: " if data else ""
    models = " and ".join(f"{name} ({side})" for name, side in zip(found.names, SIDES, strict=True))
    title = f"{source}{one_line(found.target)} by {models}"
    rows = f"Log-loss of {count_of(found.withheld, 'held-out row')}, mean ± standard error of {found.draws} draws"
    columns = [TableColumn("rows", found.sizes, "count")]
    for i, side in enumerate(SIDES):
        losses = zip(found.log_loss[i], found.log_loss_error[i], strict=True)
        columns.append(TableColumn(side, [f"{loss:.3f} ± {error:.3f}" for loss, error in losses]))
        columns.append(TableColumn("accuracy", found.accuracy[i].tolist(), ".3f"))
    columns.append(TableColumn("prefer", [NEITHER_BETTER if i is None else SIDES[i] for i in found.preferred]))
    apart = found.log_losses[0] - found.log_losses[1]
    mean, error = apart.mean(0), 2 * apart.std(0, ddof=1) / found.draws**0.5
    points = [(float(m), float(m - e), float(m + e)) for m, e in zip(mean, error, strict=True)]
    return [
        Paragraph(title, "title"),
        Paragraph(rows),
        GAP,
        Table(columns, Drawing("intervals", points, DIFFERENCE, narrowest=len(DIFFERENCE), widest=24)),
        GAP,
        Paragraph(found.advice),
    ]


def compared_content(found: CurveComparison) -> list[Content]:
    return comparison_content(found, "")
