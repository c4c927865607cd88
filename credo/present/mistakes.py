"""A classifier's errors, as parts of a page: precision and recall by class, and the worst mistakes with their
explanations."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from credo.asking.protocol import EvidenceWeight, waterfall
from credo.data import source
from credo.models.mistakes import explained_rows, held_out_scores, worst_first, wrong
from credo.present.html import named, tabulated
from credo.present.numbers import whole

if TYPE_CHECKING:
    from credo.models.classifier import Classifier
    from credo.models.metrics import Scores

PAGE_CLASSES = 100  # listed with precision and recall
MISTAKES, REASONS = 15, 3  # the worst mistakes, and the reasons for each


def classes_table(scores: Scores) -> str:
    """Precision and recall of each class."""
    found = scores.by_class()
    rows = [
        (named(each.value), whole(each.rows), _percent(each.precision), _percent(each.recall))
        for each in found[:PAGE_CLASSES]
    ]
    rest = len(found) - len(rows)
    more = f'<p class="faint">{rest:,} more class{"" if rest == 1 else "es"}</p>' if rest else ""
    return f"<h2>Classes</h2>\n{tabulated(('class', 'rows', 'precision', 'recall'), rows, 'sortable')}{more}"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"


def mistakes_table(model: Classifier, examples: object) -> str:
    """The held-out rows whose true class had the least probability, and why; nothing without labelled examples."""
    if examples is None or str(model.target) not in (table := source(examples)).names or table.once:
        return ""
    scores = held_out_scores(model, table)
    worst = worst_first(scores, wrong(scores), MISTAKES)
    if not worst:
        return ""
    reasons = explained_rows(model, table, [each.row for each in worst])
    rows = [
        (
            f"{each.row:,}", named(each.truth), named(each.predicted), f"{each.of_truth:.1%}", f"{each.top:.1%}",
            _reasons(reasons[each.row]),
        )
        for each in worst
    ]  # fmt: skip
    headers = ("row", "truth", "predicted", "P(truth)", "P(predicted)", "strongest reasons, in nats")
    about = f"Of {len(scores.truth):,} rows that have a class ({escape(scores.how)})."
    return (
        f'<h2>Worst mistakes</h2>\n{tabulated(headers, rows, "sortable reasons", (1, 2))}\n<p class="faint">{about}</p>'
    )


def _reasons(explanation: object) -> str:
    strongest = sorted(waterfall(explanation).weights, key=lambda each: -abs(each["weight"]))[:REASONS]
    return ", ".join(map(_reason, strongest))


def _reason(each: EvidenceWeight) -> str:
    value = "" if each["value"] is None else f" = {named(each['value'])}"
    return f"{named(each['name'])}{value} {each['weight']:+.2f}"
