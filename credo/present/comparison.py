"""Two learning curves side by side, and which model to prefer at which size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo.present.content import GAP, Content, Drawing, Paragraph, Table, TableColumn
from credo.present.numbers import count_of, one_line

if TYPE_CHECKING:
    from credo.selection.comparison import CurveComparison

NEITHER_BETTER = "-"


def comparison_content(found: CurveComparison, data: str) -> list[Content]:
    """A line for each size: log-loss and accuracy of both models, the better one, and how far they are apart."""
    source = f"{data}: " if data else ""
    title = f"{source}{one_line(found.target)} by {found.names[0]} (generative) and {found.names[1]} (discriminative)"
    rows = f"Log-loss of {count_of(found.withheld, 'withheld row')}, mean ± standard error of {found.draws} draws"
    columns = [TableColumn("rows", found.sizes, "count")]
    for i, name in enumerate(found.names):
        losses = zip(found.log_loss[i], found.log_loss_error[i], strict=True)
        columns.append(TableColumn(name, [f"{loss:.4f} ± {error:.4f}" for loss, error in losses], longest=40))
        columns.append(TableColumn("accuracy", found.accuracy[i].tolist(), ".3f", rank=1))
    better = [NEITHER_BETTER if side is None else found.names[side] for side in found.preferred]
    columns.append(TableColumn("prefer", better, longest=40))
    apart = found.log_losses[0] - found.log_losses[1]
    mean, error = apart.mean(0), 2 * apart.std(0, ddof=1) / found.draws**0.5
    points = [(float(m), float(m - e), float(m + e)) for m, e in zip(mean, error, strict=True)]
    return [
        Paragraph(title, "title"),
        Paragraph(rows),
        GAP,
        Table(columns, Drawing("intervals", points, "difference", narrowest=16, widest=24), ranks=("more column",)),
        GAP,
        Paragraph(found.advice),
        Paragraph("difference: log-loss of the first less that of the second, ± 2 standard errors of draws", "note"),
    ]


def compared_content(found: CurveComparison) -> list[Content]:
    return comparison_content(found, "")
