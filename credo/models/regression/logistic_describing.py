"""Descriptions of a logistic regression: a summary, and its weights with their credible intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from credo.errors import DataError, counted

if TYPE_CHECKING:
    from credo.models.regression.logistic import LogisticRegression

INTERCEPT = "(intercept)"
PRINTED_NAMES = 8  # columns or classes named in a summary


def weight_table(model: LogisticRegression, interval: float) -> pa.Table:
    """An Arrow table with a row for each feature, and for each class if there are more than two."""
    from scipy.special import ndtri

    if not isinstance(interval, int | float | np.number) or not 0 < interval < 1:
        raise DataError(f"interval must be a probability between 0 and 1, but is {interval!r:.60}")
    mode, spread = model.seen.mode, np.sqrt(model.seen.variances) * float(ndtri(0.5 + interval / 2))
    classes = model.classes if mode.shape[1] > 1 else model.classes[1:]
    names = [INTERCEPT, *model.encoding.names]
    return pa.table(
        {
            "feature": [name for name in names for _ in classes],
            "class": pa.array([value for _ in names for value in classes]),
            "weight": mode.ravel(),
            "low": (mode - spread).ravel(),
            "high": (mode + spread).ravel(),
        }
    )


def described(model: LogisticRegression) -> str:
    """A model in a few lines."""
    if model.posterior is None:
        return "LogisticRegression, not fitted yet"
    order = np.argsort(-model.class_weights)[:PRINTED_NAMES]
    classes = ", ".join(f"{model.classes[k]} {model.class_weights[k]:g}" for k in order)
    more = f", ... ({len(model.classes)} in all)" if len(model.classes) > len(order) else ""
    lines = [f"LogisticRegression of {model.target}, after {counted(model.n, 'row')}: {classes}{more}"]
    columns = model.feature_names
    rest = f", ... ({len(columns)} in all)" if len(columns) > PRINTED_NAMES else ""
    few = ", ".join(columns[:PRINTED_NAMES]) + rest
    lines.append(f"  {counted(model.encoding.width, 'feature')} of {few}")
    lines.append(f"  {prior_described(model)}; log-likelihood {model.log_likelihood:.6g}")
    if model.posterior.log_evidence is not None:
        lines[-1] += f", log-evidence {model.posterior.log_evidence:.6g}"
    return "\n".join(lines)


def prior_described(model: LogisticRegression) -> str:
    """The strengths of the prior, and how they were chosen."""
    if model.estimate == "ml":
        return "no prior"
    strengths = {round(value, 12) for value in model.strengths.values()}
    shown = " and ".join(f"{value:.3g}" for value in sorted(strengths))
    if not isinstance(model.strength, str):
        return f"strength {shown}, as given"
    by_evidence = model.posterior is not None and model.posterior.whole and not model.encoding.texts
    how = "evidence" if model.strength == "evidence" or (model.strength == "auto" and by_evidence) else "held-out rows"
    return f"strength {shown}, by {how}"
