"""credo.average: models weighted by evidence, or stacked on held-out predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from credo.data import source
from credo.errors import DataError
from credo.models.average import ModelAverage, Weighing
from credo.selection.choose import fitted_on, learned, names_of


def average(
    models: Sequence[Any] | Mapping[str, Any],
    data: object = None,
    by: Weighing | None = None,
    *,
    target: object = None,
) -> ModelAverage:
    """The Bayes-optimal mixture P(class | row) = Σ P(class | row, model) P(model | data), as a classifier.

    by="evidence" (the default without data) weights models by their evidence; "loo" (the default with data) stacks them
    on exact leave-one-out scores, "folds" on held-out folds. Unfitted models are fitted to the data.

    >>> from credo import GaussianDiscriminant, NaiveBayes
    >>> rows = {"x": [0.1, 0.4, 1.9, 2.2, 0.3, 2.5], "y": list("aabbab")}
    >>> both = average([NaiveBayes(), GaussianDiscriminant("tied")], rows, target="y")
    >>> both.predict({"x": [0.0, 2.0]}).tolist()
    ['a', 'b']
    """
    named = names_of(models)
    by = by or ("evidence" if data is None else "loo")
    if by not in get_args(Weighing):
        raise DataError(f"by must be one of {', '.join(map(repr, get_args(Weighing)))}, but is {by!r:.60}")
    if data is None:
        if unfitted := next((name for name, model in named.items() if not learned(model)), None):
            raise DataError(f"{unfitted} has learned nothing yet: fit it, or give data and target=")
        return ModelAverage.of(named, None, by)
    table = source(data)
    fitted = {name: fitted_on(name, model, table, target) for name, model in named.items()}
    if target is not None and not isinstance(target, str):
        table = table.beside(str(next(iter(fitted.values())).target), target)
    return ModelAverage.of(fitted, table, by)
