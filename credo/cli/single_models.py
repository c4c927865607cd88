"""credo learn with a single kind of model: it is fitted and cross-validated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from credo.cli.progress import shown_progress
from credo.cli.reading import opened_data
from credo.cli.streams import remark

if TYPE_CHECKING:
    from credo.present.content import Content

SINGLE_MODELS = ("tree", "logistic")
SCORING_FOLDS = 10


class OutputFiles(NamedTuple):
    """The files that were asked for: the model, its page and its picture."""

    model: str | None
    page: str | None
    picture: str | None


def learn_single(
    data: str,
    target: str | None,
    files: OutputFiles,
    *,
    model: Any,
    weight: str | None,
    groups: str | None,
    kinds: dict[str, Any],
    top: int | None,
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
    check_outputs(*files)
    with shown_progress("learning"):
        table = opened_data(data).held()
        learned = credo.learn(table, target, model=model, kinds=kinds or None, weight=weight, groups=groups)
        write_learned(learned, files._replace(page=None))
        few = len(learned.classes) < 2 or learned.n < 2 * SCORING_FOLDS
        found = None if few else learned.cross_validate(table, SCORING_FOLDS, weight=weight, groups=groups)
        scores = [] if found is None else [GAP, *scores_content(found)]
        write_learned(learned, OutputFiles(None, files.page, None), scores)
    show([*model_content(learned, top), *scores])
    remark_written(files)


def write_learned(model: Any, files: OutputFiles, more: Sequence[Content] = ()) -> None:
    """Write the requested files: the model, its page (with further contents at its end) and its picture. This comes
    before printing, which a closed pipe may interrupt."""
    from credo.storage.files import save

    if files.model:
        save(model, files.model)
    if files.page:
        from credo.present.model_page import model_page

        model_page(model, files.page, more)
    if files.picture:
        from credo.present.plotting import save_figure

        save_figure(model.plot(), files.picture)


def remark_written(files: OutputFiles) -> None:
    for path in filter(None, files):
        remark(f"wrote {path}")
