"""The report of credo.learn: the columns, the candidates, and the scores."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike

from credo.core.records import Shown
from credo.models.metrics import Scores
from credo.models.regression.scores import NumberScores

FilePath = str | PathLike[str]


@dataclass(frozen=True)
class TriedCandidate:
    """A candidate, calibrated alone, and its held-out scores."""

    name: str
    log_loss: float
    accuracy: float
    share: float = 0.0  # its weight in the logarithmic pool; weights need not sum to 1
    difference_error: float = 0.0  # standard error of the difference of its log-loss from the best candidate's


@dataclass(frozen=True)
class ReadColumn:
    """A column, its kind and forms, and its importance."""

    name: str
    kind: str
    form: str  # the forms that the model uses; "" where it ignores the column
    missing: float  # the share of missing cells
    weight: float  # mean size of its weight of evidence between the two most probable classes, in nats


@dataclass(frozen=True)
class TriedRegression:
    """A regression and its held-out scores."""

    name: str
    log_loss: float
    rmse: float
    r2: float
    chosen: bool = False


@dataclass(frozen=True, eq=False)
class RegressionReport(Shown):
    """The report of credo.learn for a regression."""

    target: str
    rows: float
    unlabelled: float
    tried: tuple[TriedRegression, ...]  # the best first
    why: str  # the outcome, in a sentence
    scores: NumberScores  # on held-out rows; they include the choice of the regression
    seconds: float

    def __repr__(self) -> str:
        lines = [f"{each.log_loss:8.4f}  {each.rmse:8.4g}  {each.r2:7.4f}  {each.name}" for each in self.tried]
        return "\n".join([self.why, "log-loss      rmse       R²", *lines, repr(self.scores)])


@dataclass(frozen=True, eq=False)
class Report:
    """The report of credo.learn: the columns, the candidates, and the scores."""

    target: str
    rows: float
    unlabelled: float
    columns: tuple[ReadColumn, ...]
    tried: tuple[TriedCandidate, ...]  # the best first
    why: str  # the outcome, in a sentence
    scores: Scores  # on held-out rows, used neither to fit nor to tune
    seconds: float

    @property
    def important(self) -> list[ReadColumn]:
        """Columns by importance."""
        return sorted(self.columns, key=lambda column: -column.weight)

    def save(self, path: FilePath) -> None:
        """Write an .html report: the candidates, the scores, and the columns."""
        from credo.present.classifier_page import report_page

        report_page(self, path)

    def _repr_html_(self) -> str:
        from credo.present.classifiers import report_content
        from credo.present.html import contents_html, notebook_html

        return notebook_html(contents_html(report_content(self)))

    def __repr__(self) -> str:
        lines = [f"{each.log_loss:8.4f}  {each.accuracy:.4f}  {each.share:6.2f}  {each.name}" for each in self.tried]
        return "\n".join([self.why, "log-loss  accuracy  weight", *lines, repr(self.scores)])
