"""How a mixture learns: the columns of a table and the labels that some rows have, then EM."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from credo import engines
from credo.core.em import expected, interruptible_em
from credo.core.evidence import Evidence, Part
from credo.core.labels import UNLABELLED
from credo.core.learning import Weight
from credo.core.membership import Hard
from credo.core.records import with_fields
from credo.core.statistics import Counts
from credo.data import Batch, Source, source
from credo.data.free_names import free_name
from credo.errors import DataError, SchemaError, counted, suggest
from credo.families.normal_inverse_wishart import Covariance
from credo.models.conditional import Conditional
from credo.models.discriminant import GaussianDiscriminant
from credo.models.forms import Views
from credo.models.latent.columns import hidden_blocks, hidden_views, recorded_numbers
from credo.models.mixture.choices import Choice
from credo.models.mixture.expectation import RowLabels, renamed_levels, unfitted
from credo.models.mixture.fitting import Fitting, Problem
from credo.models.mixture.optima import Fit
from credo.models.mixture.rows import Rows
from credo.models.targets import check_classes, with_target
from credo.notices import tell

if TYPE_CHECKING:
    from credo.models.mixture.model import Mixture

GROUPS = "cluster"  # the name of the components' column


def learned(mixture: Mixture, data: object, target: object, weight: Weight) -> Any:
    """The mixture fitted to the rows."""
    problem = problem_of(mixture, data, target, weight)
    covariance = mixture.covariance or ("auto" if mixture.components == "auto" else "full")
    if mixture.components == "auto" or covariance == "auto":
        from credo.models.mixture.search import best_choice

        numbers = None if mixture.components == "auto" else mixture.components
        fit, choices = best_choice(problem, numbers, covariance, mixture.most_components)
        chosen = choices[0].covariance
    else:
        chosen = covariance
        fit = problem.fitted(mixture.components, chosen)
        choices = (problem.choice(fit, chosen),)
    signed = _in_currencies(fit, problem.rows.table, problem.views)
    found = _concluded(mixture, problem.views, problem.groups, chosen, signed, choices, bool(problem.known))
    strength = problem.predictive_strength(fit, chosen)
    return found.replaced(fitted=found.fitted.replaced(strength=strength))


def problem_of(mixture: Mixture, data: object, target: object, weight: Weight) -> Problem:
    table, kinds, labels = source(data), mixture.kinds, None
    if target is not None:
        table, labels = with_target(table, target)
        kinds = check_classes(table, labels, kinds)
    if isinstance(weight, str):
        table.require([weight])
    features = tuple(name for name in table.without(weight).names if name != labels)
    if not features:
        raise SchemaError("there is no column to learn from")
    table, views, numbers = hidden_views(table, features, kinds)
    if not views:
        raise SchemaError("there is no column to learn from: all of them are ignored")
    rows = Rows.of(table, [*views, *([] if labels is None else [labels])], weight)
    known = () if labels is None else _known(rows, labels)
    if mixture.components != "auto" and mixture.components < len(known):
        raise DataError(
            f"column {labels!r} has {len(known)} different labels, but there are only {mixture.components} components"
        )
    how = Fitting(mixture.starts, mixture.steps, mixture.tolerance, mixture.seed)
    groups = labels if known and labels else free_name(GROUPS, table.names)
    settings, concentration = mixture.settings, mixture.share_smoothing
    return Problem(
        rows, views, mixture.kinds, numbers, settings, concentration, groups, known, how, mixture.strength,
        compares=mixture.components == "auto",
    )  # fmt: skip


@dataclass(frozen=True)
class LabelValues:
    """The labels that a batch's rows have."""

    column: str

    def __call__(self, batch: Batch) -> list[Any]:
        found: list[Any] = batch.categories(self.column)[1].to_pylist()
        return found


def _known(rows: Rows, labels: str) -> tuple[Any, ...]:
    """All labels, in their natural order."""
    found = dict.fromkeys(value for part in engines.map(LabelValues(labels), rows()) for value in part)
    if not found:
        tell(f"every cell of {labels!r} is missing: the components are fitted without labels")
        return ()
    try:
        return tuple(sorted(found))
    except TypeError:
        raise DataError(f"column {labels!r} has labels of different types, such as {[*found][:2]!r:.60}") from None


def continued(mixture: Mixture, data: object, target: object, weight: Weight) -> Any:
    """The mixture after more rows: EM continues, with the old evidence kept."""
    before = mixture.classifier
    groups, names = str(before.target), before.classes
    table = before.opened(data)
    if target is not None and not (isinstance(target, str) and target == groups):
        if isinstance(target, str):
            raise SchemaError(f"the components' column is {groups!r}, not {target!r}")
        table = table.without(groups).beside(groups, target)
    labels = None
    if groups in table.names:
        labels = RowLabels(groups, names)
    columns = _present(before, table, weight)
    rows = Rows.of(table, [*columns, *([groups] if labels else [])], weight)
    if labels is not None and (unknown := [name for name in _known(rows, groups) if name not in names]):
        raise DataError(f"no component is called {unknown[0]!r:.60}; {suggest(unknown[0], names)}")
    numbers = recorded_numbers(table, before.views)
    blocks = hidden_blocks(before.views, mixture.kinds, before.covariance, numbers)
    conditional = Conditional(blocks, before.settings, groups)
    earlier = before.seen.keeping({label for label in before.seen.parts if label != UNLABELLED})
    begun = unfitted(conditional, pa.array(names), mixture.share_smoothing, rows.weights.of_a_row, labels)
    model = replace(begun.with_evidence(earlier), earlier=earlier)
    evidence, _ = expected(model, rows)  # the prior depends on all rows, from the first step on
    fit = interruptible_em(model.with_evidence(evidence), rows, steps=mixture.steps, tolerance=mixture.tolerance)
    total = replace(fit, evidence=Evidence.total([earlier, fit.evidence]))
    signed = _in_currencies(total, table, columns)
    return _concluded(mixture, before.views, groups, before.covariance, signed, (), named=True)


def _in_currencies(fit: Fit, table: Source, columns: Iterable[str]) -> Fit:
    """The fit with the currency signs of its columns."""
    return replace(fit, evidence=fit.evidence.in_currencies(table.currencies([*columns])))


def _present(model: GaussianDiscriminant, table: Source, weight: Weight) -> list[str]:
    return model._present(table.without(weight))


def _concluded(
    mixture: Mixture, views: Views, groups: str, covariance: Covariance, fit: Fit, choices: tuple[Choice, ...],
    named: bool,
) -> Any:  # fmt: skip
    """The fitted mixture, its components as classes; the largest first, unless they have names."""
    if not (fit.converged or fit.interrupted):
        tell(f"EM ended after {counted(len(fit.history) - 1, 'step')}, before it converged: increase steps=")
    evidence = fit.evidence
    if not named:
        weights = fit.model.with_evidence(evidence).conditional.weights
        order = sorted(range(len(weights)), key=lambda k: (-weights[k], k))
        evidence = renamed_levels(evidence, groups, order, fit.model.levels)
    nothing = Part((None,), Counts.of_rows(Hard.whole(0, np.empty(0))))
    evidence = Evidence(evidence.schema, {UNLABELLED: nothing, **evidence.parts}).ordered()
    strength = fit.model.conditional.settings.strength
    settings = covariance, strength, mixture.estimate, mixture.smoothing, mixture.share_smoothing
    empty = GaussianDiscriminant(*settings, kinds=mixture.kinds)
    classifier = with_fields(empty, target=groups, views=views, evidence=evidence)
    return mixture.replaced(fitted=classifier, history=fit.history, choices=choices)
