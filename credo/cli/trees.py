"""credo learn --model tree: a decision tree, averaged over its prunings, and its scores."""

from __future__ import annotations

from typing import Any

from credo.cli.progress import shown_progress
from credo.cli.reading import opened_data
from credo.cli.streams import remark

FOLDS = 10


def learn_tree(
    data: str, *, target: str, weight: str | None, kinds: dict[str, Any], output: str | None, plot: str | None
) -> None:
    """Grow, save, draw, show; scores are those of trees that are grown again without each fold."""
    import credo
    from credo.cli.output import MODEL, check
    from credo.present.terminal import show
    from credo.present.trees import learned_tree_content

    if output:
        check(output, (MODEL,))
    if plot:
        check(plot, (".png", ".svg", ".pdf"))
    with shown_progress("learning"):
        table = opened_data(data).held()
        tree = credo.DecisionTree(kinds=kinds or None).fit(table, target=target, weight=weight)
        if output:  # before printing, which a reader may cut short
            credo.save(tree, output)
        if plot:
            from credo.present.plotting import save_figure

            save_figure(tree.plot(), plot)
        few = len(tree.classes) < 2 or tree.n < FOLDS
        scores = None if few else tree.cross_validate(table, FOLDS, weight=weight)
    show(learned_tree_content(tree, data, scores))
    for path in filter(None, (output, plot)):
        remark(f"wrote {path}")
