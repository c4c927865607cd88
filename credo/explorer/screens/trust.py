"""Whether to trust a classifier: scores of held-out rows, calibration, and decisions under other costs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from credo.asking.protocol import waterfall
from credo.errors import DataError, suggest
from credo.explorer.screens.screen import Action, Answer, Asked, Subject, mapping_in, number_in, text_in
from credo.explorer.screens.snippets import called
from credo.models.class_predictor import ClassPredictor
from credo.models.classifier import Classifier
from credo.models.loss_matrix import loss_matrix
from credo.models.metrics import Scores
from credo.models.mistakes import explained_rows, held_out_scores, worst_first, wrong
from credo.numerics.exact import Array
from credo.present.content import plain

if TYPE_CHECKING:
    from credo.selection.learning_curve import LearningCurve

TRUST_MATRIX_CLASSES = 40  # with more, there is no matrix
LISTED_ROWS = 30  # of a cell of the matrix, and of the worst mistakes


class TrustScreen:
    """Candidates, calibration, confusion matrix, costs; with rows, mistakes and their explanations."""

    kind: ClassVar[str] = "trust"
    title: ClassVar[str] = "Trust"

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.model: ClassPredictor = subject.model

    @cached_property
    def scores(self) -> Scores:
        """Scores of the given rows, else of the report."""
        if self.subject.data is not None:
            return held_out_scores(self.model, self.subject.data)
        report = getattr(self.model, "report", None)
        if report is None:
            raise DataError(
                "there are no scores of held-out rows: learn the model with credo.learn, or give rows with "
                "`credo explore m.credo --data rows.csv`"
            )
        scores: Scores = report.scores
        return scores

    def opened(self) -> Answer:
        scores, report = self.scores, getattr(self.model, "report", None)
        value, share = scores.commonest
        return {
            "classes": [str(each) for each in scores.classes],
            "rows": len(scores.truth),
            "how": scores.how,
            "figures": {**scores.summary(), "log_loss_error": scores.log_loss_error},
            "commonest": {"class": str(value), "share": share},
            "tried": [] if report is None else [plain(each) for each in report.tried],
            "reliability": self._reliability(),
            "by_class": self._by_class(),
            "has_rows": self.subject.data is not None,
            "has_curve": self.subject.data is not None and isinstance(self.model, Classifier),
        }

    def _reliability(self) -> list[dict[str, float]]:
        """Points of the diagram, with 95% credible intervals."""
        from credo import BetaBernoulli

        found = []
        for stated, right, weight in zip(*self.scores.reliability(), strict=True):
            low, high = BetaBernoulli(1 + right * weight, 1 + (1 - right) * weight).interval()
            point = {"stated": float(stated), "right": float(right), "rows": float(weight)}
            found.append(point | {"low": float(low), "high": float(high)})
        return found

    def _by_class(self) -> list[dict[str, Any]]:
        """Precision and recall."""
        return [each._asdict() | {"class": str(each.value), "value": None} for each in self.scores.by_class()]

    @property
    def actions(self) -> Mapping[str, Action]:
        return {
            "decide": self.decide, "cell": self.cell, "worst": self.worst, "why": self.why, "curve": self.curve,
        }  # fmt: skip

    def curve(self, asked: Asked) -> Answer:  # noqa: ARG002 - an action's signature
        """The log-loss on withheld rows by the number of training rows."""
        if self.subject.data is None or not isinstance(self.model, Classifier):
            raise DataError("a learning curve needs rows to learn: `credo explore m.credo --data rows.csv` gives them")
        found = self._curve
        points = [
            {"rows": size, "log_loss": scores.log_loss, "error": scores.log_loss_error, "accuracy": scores.accuracy}
            for size, scores in zip(found.sizes, found.scores, strict=True)
        ]
        own, _ = called(self.subject)
        return {"points": plain(points), "copy": {"python": f"{own}.learning_curve(data).plot()", "cli": ""}}

    @cached_property
    def _curve(self) -> LearningCurve:
        assert isinstance(self.model, Classifier)
        return self.model.learning_curve(self.subject.data)

    def _decided(self, asked: Asked) -> tuple[NDArray[np.intp], Array, Array]:
        """The decision for each row (the number of classes: rejected), its loss, and the loss matrix."""
        names = {str(value): value for value in self.scores.classes}
        given = mapping_in(asked, "loss")
        loss = {
            names.get(truth, truth): {names.get(own, own): cost for own, cost in mapping_in(given, truth).items()}
            for truth in given
        }
        matrix = loss_matrix(loss or None, self.scores.classes)
        expected = self.scores.probabilities @ matrix
        decided, rows = expected.argmin(1), np.arange(len(self.scores.truth))
        cost = matrix[self.scores.truth, decided]
        if asked.get("reject") is not None:
            price = number_in(asked, "reject", 0.0)
            rejected = expected[rows, decided] > price
            decided, cost = np.where(rejected, len(self.scores.classes), decided), np.where(rejected, price, cost)
        return decided, cost, matrix

    def decide(self, asked: Asked) -> Answer:
        """Decisions of least expected loss on held-out rows: the confusion matrix, and their loss."""
        decided, cost, matrix = self._decided(asked)
        scores, size = self.scores, len(self.scores.classes)
        cells = scores.truth * (size + 1) + decided
        table = np.bincount(cells, scores.weights, size * (size + 1)).reshape(size, size + 1)
        plainly = matrix[scores.truth, scores.predicted]
        own, _ = called(self.subject)
        given = {"loss": mapping_in(asked, "loss") or None, "reject": asked.get("reject")}
        costs = "".join(f", {name}={cost!r}" for name, cost in given.items() if cost is not None)
        return {
            "confusion": table[:TRUST_MATRIX_CLASSES, :].tolist(),
            "cost": float(np.average(cost, weights=scores.weights)),
            "cost_of_most_probable": float(np.average(plainly, weights=scores.weights)),
            "rejected": float(np.average(decided == size, weights=scores.weights)),
            "copy": {"python": f"{own}.decide(data{costs})", "cli": ""},
        }

    def cell(self, asked: Asked) -> Answer:
        """The rows in a cell of the confusion matrix, the most certain first."""
        decided, _, _ = self._decided(asked)
        names = [*map(str, self.scores.classes), "(rejected)"]
        asked_for = text_in(asked, "truth"), text_in(asked, "decision")
        for unknown in (name for name in asked_for if name not in names):
            raise DataError(f"there is no class {unknown!r:.60}; {suggest(unknown, names)}")
        truth, decision = map(names.index, asked_for)
        return self._rows(np.flatnonzero((self.scores.truth == truth) & (decided == decision)))

    def worst(self, asked: Asked) -> Answer:  # noqa: ARG002 - an action's signature
        """The rows whose true class had the least probability."""
        return self._rows(wrong(self.scores))

    def _rows(self, some: NDArray[np.intp]) -> Answer:
        rows = [
            vars(each) | {"truth": str(each.truth), "predicted": str(each.predicted)}
            for each in worst_first(self.scores, some, LISTED_ROWS)
        ]
        return {"rows": rows, "total": len(some), "has_rows": self.subject.data is not None}

    def why(self, asked: Asked) -> Answer:
        """The explanation of a row, counted among the labelled ones."""
        if self.subject.data is None:
            raise DataError("the rows themselves aren't here: `credo explore m.credo --data rows.csv` shows them")
        row = int(number_in(asked, "row", 1))
        return {"why": plain(waterfall(explained_rows(self.model, self.subject.data, [row])[row]))}
