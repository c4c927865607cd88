"""credo learn with one kind of model, which isn't compared with others: it is fitted and cross-validated."""

from __future__ import annotations

from typing import Any

from credo.cli.progress import shown_progress
from credo.cli.reading import opened_data
from credo.cli.streams import remark

SINGLE = {"logistic": "LogisticRegression"}  # the names of models, and those of their classes
FOLDS = 10


def learn_single(
    data: str,
    target: str | None,
    *,
    model: str,
    weight: str | None,
    kinds: dict[str, Any],
    output: str | None,
    top: int,
) -> None:
    """Fit, save, and show the model and how well it predicts held-out rows."""
    import credo
    from credo.cli.arguments import column_asked_for
    from credo.cli.output import MODEL, check
    from credo.present.classifiers import scores_content
    from credo.present.content import GAP
    from credo.present.models import model_content
    from credo.present.terminal import show
    from credo.storage.files import save

    target = column_asked_for(data, target, "--target", "which column holds the classes")
    if output:
        check(output, (MODEL,))
    with shown_progress("learning"):
        table = opened_data(data).held()
        learned = getattr(credo, SINGLE[model])(kinds=kinds or None).fit(table, target, weight=weight)
        if output:
            save(learned, output)
        scores = learned.cross_validate(table, FOLDS, weight=weight) if learned.n >= 2 * FOLDS else None
    show([*model_content(learned, top), *([GAP, *scores_content(scores)] if scores is not None else [])])
    if output:
        remark(f"wrote {output}")
