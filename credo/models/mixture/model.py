"""Mixture: a mixture model of mixed columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from credo.blocks.block import Estimate, Settings
from credo.core.description import DescriptionLength
from credo.core.evidence import Evidence
from credo.core.learning import Weight
from credo.core.records import Surface, with_fields
from credo.errors import DataError, EvidenceError, PriorError, check_seed, suggest
from credo.families.normal_inverse_wishart import Covariance
from credo.models.description_length import rows_length
from credo.models.discriminant import GaussianDiscriminant
from credo.models.mixture.choices import Choice
from credo.models.naive_bayes import check_settings
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.models.explaining import Explanation
    from credo.models.mixture.describing import Description
    from credo.present.plotting import Figure
    from credo.streaming.live_mixture import LiveMixture

ROUNDING = 1e-9
FIRST_STRENGTH = 0.1  # where the search for it begins
NOT_FITTED = "nothing was learned yet: fit(data) first"
COVARIANCES: tuple[Covariance, ...] = ("full", "tied", "diagonal", "spherical")
PLOTS = ("ellipses", "profile")
HIDDEN = (
    "a mixture can't {}: responsibilities were inferred from all rows together, so no part of the "
    "evidence is the row's alone. {}"
)


@dataclass(frozen=True, eq=False, repr=False)
class Mixture(Surface):
    """p(row) = Σₖ πₖ p(columns | component k): components and mixing weights are fitted by EM.

    Number columns of a component covary (covariance "full", or "tied": one for all components) or don't ("diagonal",
    "spherical"); columns of other kinds are independent of them given the component. components="auto" chooses their
    number, and the covariance unless given, by approximate evidence. Priors with the weight of `strength` rows at the
    pooled means and variances keep components from collapsing; unless given, it is chosen by evidence, and by held-out
    rows for the predictions of full covariances.

    >>> rows = {"x": [0.0, 0.2, 0.1, 0.1, 5.0, 5.3, 5.1], "colour": ["red"] * 4 + ["blue"] * 3}
    >>> mixture = Mixture(2).fit(rows)
    >>> mixture.predict({"x": [0.3, 4.0], "colour": ["red", "blue"]}).tolist()
    [0, 1]
    """

    _internal: ClassVar[tuple[str, ...]] = ("classifier", "replaced", "settings")

    components: int | Literal["auto"] = "auto"
    covariance: Covariance | Literal["auto"] | None = None  # None: "full", or "auto" where components are
    strength: float | None = None  # of the numbers' prior; None: chosen
    smoothing: float = 1.0
    share_smoothing: float = 1.0
    estimate: Estimate = "bayes"
    kinds: Mapping[str, Any] | None = None
    starts: int = 20
    steps: int = 500
    tolerance: float = 1e-6
    most_components: int = 30
    seed: int = 0
    fitted: GaussianDiscriminant | None = field(default=None, init=False)  # the components as classes
    history: tuple[float, ...] = field(default=(), init=False)  # EM's objective, step by step
    choices: tuple[Choice, ...] = field(default=(), init=False)  # what was tried, and its evidence

    def __post_init__(self) -> None:
        if self.components != "auto":
            _check_whole("components", self.components, "or 'auto'")
        if self.covariance not in (None, "auto", *COVARIANCES):
            raise PriorError(f"no such covariance, {self.covariance!r}; {suggest(self.covariance, COVARIANCES)}")
        strength = FIRST_STRENGTH if self.strength is None else self.strength
        check_settings(self.estimate, strength, smoothing=self.smoothing, class_smoothing=self.share_smoothing)
        for name in ("starts", "steps", "most_components"):
            _check_whole(name, getattr(self, name))
        if not (isinstance(self.tolerance, int | float | np.number) and self.tolerance >= 0):
            raise DataError(f"tolerance must be a number of at least 0, but is {self.tolerance!r:.60}")
        check_seed(self.seed)

    @property
    def settings(self) -> Settings:
        return Settings(
            self.estimate, self.smoothing, strength=FIRST_STRENGTH if self.strength is None else self.strength
        )

    def replaced(self, **values: Any) -> Self:
        return with_fields(self, **values)

    # Learning

    def fit(self, data: object, target: object = None, *, weight: Weight = None) -> Self:
        """Fit the components. `target` may name a column, or be an array, that gives the component of some rows; the
        others are missing."""
        from credo.engines.local import small_matrices
        from credo.models.mixture.learning import learned

        with small_matrices():  # starts are many small matrices, which several threads would wait for
            found: Self = learned(self, data, target, weight)
        return found

    def update(self, data: object, *, target: object = None, weight: Weight = None) -> Self:
        """Continue EM with more rows. The expected statistics of earlier rows are kept."""
        from credo.models.mixture.learning import continued

        found: Self = continued(self, data, target, weight)
        return found

    def forget(self, data: object, **_: Any) -> NoReturn:  # noqa: ARG002 - whatever it is, it can't be forgotten
        """Refused: responsibilities depend on all rows, so rows can't be subtracted."""
        raise EvidenceError(HIDDEN.format("forget rows", "Fit the rows that are left"))

    def __add__(self, other: object) -> NoReturn:
        raise EvidenceError(
            HIDDEN.format("be merged with another", "Fit the rows of both, or update one with the rows")
        )

    # What was learned

    @property
    def classifier(self) -> GaussianDiscriminant:
        """The components as classes, with EM's expected evidence."""
        if self.fitted is None:
            raise EvidenceError(NOT_FITTED)
        return self.fitted

    @property
    def evidence(self) -> Evidence | None:
        return None if self.fitted is None else self.fitted.evidence

    @property
    def names(self) -> tuple[Any, ...]:
        """The names of the components: 0, 1, ..., the largest first; or labels."""
        return self.classifier.classes

    @property
    def shares(self) -> dict[Any, float]:
        """π, by the components' names."""
        return dict(zip(self.names, np.exp(self.classifier.terms.log_prior).tolist(), strict=True))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the model."""
        return tuple(self.classifier.views)

    @property
    def n(self) -> float:
        """The weight of the rows."""
        n = self.classifier.n
        return float(round(n)) if abs(n - round(n)) < ROUNDING * n else n

    @property
    def log_evidence(self) -> float:
        """log p(rows) under the chosen model, approximately."""
        return self._tried[0].log_evidence

    @property
    def _tried(self) -> tuple[Choice, ...]:
        _ = self.classifier
        if not self.choices:
            raise EvidenceError("the evidence of rows that came in an update isn't known: fit all rows together")
        return self.choices

    @property
    def component_posterior(self) -> dict[int, float]:
        """P(number of components | rows), over those that were tried."""
        from credo.models.mixture.choices import posterior_of_components

        return posterior_of_components(self._tried)

    def description_length(self, data: object) -> DescriptionLength:
        """L(h) + L(rows | h) in bits: how many components, ½ log₂ n for each parameter, −log₂ p(row)."""
        log_prob = self.classifier._log_prob_here(data)
        return rows_length(self, self.columns, log_prob, self.classifier.n_parameters, len(self.names))

    def parameters(self) -> Any:
        """An Arrow table: each column's parameters by component."""
        return self.classifier.parameters()

    def describe(self) -> Description:
        """What distinguishes each component from the others."""
        from credo.models.mixture.describing import described

        return described(self)

    # Prediction

    def predict(self, data: object) -> NDArray[Any]:
        """The most probable component of each row; of a Dask or Spark DataFrame, that frame with `predicted`."""
        return self.classifier.predict(data)

    def responsibilities(self, data: object) -> Array:
        """P(component | row) (rows, components); of a Dask or Spark DataFrame, that frame with a column for each."""
        return self.classifier.predict_proba(data)

    def log_prob(self, data: object) -> Array:
        """log p(row), missing cells marginalised: low for outliers."""
        return self.classifier.log_prob(data)

    def surprise(self, data: object) -> Any:
        """An Arrow table of the rows, the most surprising first: -log p(row), the component that is nearest, and how
        surprising each column is."""
        from credo.models.mixture.surprising import surprise

        return surprise(self, data)

    def sample(self, size: int, seed: Any = None) -> Any:
        """An Arrow table of sampled rows and their components."""
        return self.classifier.sample(size, seed)

    def impute(self, data: object, *, draws: bool = False, seed: int = 0) -> Any:
        """An Arrow table without missing cells: each is its expectation given the observed ones (a number's mean, the
        most probable category), or a draw. Of a Dask or Spark DataFrame: that frame, its missing cells filled in when
        it is computed, unless they are drawn."""
        from credo.models.mixture.imputing import imputed

        return imputed(self, data, draws, seed)

    def explain(self, row: object, of: object = None, against: object = None, *, unit: str = "nats") -> Explanation:
        """Why the component is `of` rather than `against` (by default the two most probable)."""
        if len(self.names) == 1:
            raise EvidenceError("the mixture has one component: nothing to compare it with")
        return self.classifier.explain(row, of, against, unit=unit)

    def plot(
        self,
        data: object = None,
        *,
        columns: Sequence[str] | None = None,
        kind: Literal["ellipses", "profile"] = "ellipses",
    ) -> Figure:
        """Ellipses of the components over two number columns (the first two, or `columns`), with the rows of some data
        as points; or kind="profile", what distinguishes the components in columns of any kind."""
        from credo.present.mixture_plot import ellipses_plot, profile_plot

        _ = self.classifier
        if kind not in PLOTS:
            raise DataError(f"no such kind of plot, {kind!r:.60}; {suggest(kind, PLOTS)}")
        return profile_plot(self) if kind == "profile" else ellipses_plot(self, data, columns)

    def report(self, path: Any) -> None:
        """Write an .html report: the components, what distinguishes them, and the numbers of components tried."""
        from credo.present.mixture_page import mixture_page

        mixture_page(self, path)

    def live(self) -> LiveMixture:
        """A mutable version of the mixture, for streams: rows are observed one by one and learned in small batches."""
        from credo.streaming.live_mixture import LiveMixture

        return LiveMixture(self)

    def __repr__(self) -> str:
        from credo.models.mixture.describing import summary

        return summary(self)


def _check_whole(name: str, value: object, otherwise: str = "") -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        wanted = " ".join(["a whole number of at least 1", *([otherwise] if otherwise else [])])
        raise DataError(f"{name} must be {wanted}, but is {value!r:.60}")
