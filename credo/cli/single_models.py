"""credo learn with a single kind of model: it is fitted and cross-validated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from credo.cli.progress import shown_progress
from credo.cli.reading import opened_data
from credo.cli.streams import remark

if TYPE_CHECKING:
    from credo.present.content import Content

SINGLE_MODELS = ("tree", "logistic")
SCORING_FOLDS = 10


def learn_single(
    data: str,
    target: str | None,
    *,
    model: Any,
    weight: str | None,
    groups: str | None,
    kinds: dict[str, Any],
    top: int | None,
    output: str | None,
    report: str | None,
    plot: str | None,
) -> None:
    """Fit, save and show the model, with its scores on held-out rows."""
    import credo
    from credo.cli.arguments import column_asked_for
    from credo.cli.output import check_outputs
    from credo.present.classifiers import scores_content
    from credo.present.content import GAP
    from credo.present.models import model_content
    from credo.present.terminal import show

    target = column_asked_for(data, target, "--target", "which column holds the classes")
    check_outputs(output, report, plot)
    with shown_progress("learning"):
        table = opened_data(data).held()
        learned = credo.learn(table, target, model=model, kinds=kinds or None, weight=weight, groups=groups)
        write_learned(learned, output, None, plot)
        few = len(learned.classes) < 2 or learned.n < 2 * SCORING_FOLDS
        found = None if few else learned.cross_validate(table, SCORING_FOLDS, weight=weight, groups=groups)
        scores = [] if found is None else [GAP, *scores_content(found)]
        write_learned(learned, None, report, None, scores)
    show([*model_content(learned, top), *scores])
    remark_written(output, report, plot)


def write_learned(
    model: Any, output: str | None, report: str | None, plot: str | None, more: Sequence[Content] = ()
) -> None:
    """Write the requested files: the model, its page (with further contents at its end) and its picture. This comes
    before printing, which a closed pipe may interrupt."""
    from credo.storage.files import save

    if output:
        save(model, output)
    if report:
        from credo.present.model_page import model_page

        model_page(model, report, more)
    if plot:
        from credo.present.plotting import save_figure

        save_figure(model.plot(), plot)


def remark_written(*paths: str | None) -> None:
    for path in filter(None, paths):
        remark(f"wrote {path}")
