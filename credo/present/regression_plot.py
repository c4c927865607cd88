"""A regression's terms: their effects on the prediction, with credible intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from credo.present.plotting import Figure, unmathed
from credo.present.regression import strongest

if TYPE_CHECKING:
    from credo.models.regression.linear import LinearRegression

DRAWN_TERMS = 20  # the strongest


def plot_regression(model: LinearRegression) -> Figure:
    """The terms' effects, made comparable: numbers per standard deviation, levels against the average."""
    line, table = model.fitted, model.parameters()
    order = strongest(model)[:DRAWN_TERMS]
    numbers = {i + 1 for i, source in enumerate(line.basis.features.names) if source in line.basis.features.columns}
    unit = np.array([line.basis.scales[i - 1] if i in numbers else 1.0 for i in order])
    weight, low, high = (table[name].to_numpy()[order] * unit for name in ("weight", "low", "high"))
    names = [unmathed(table["term"][i].as_py()) for i in order]
    figure = Figure(figsize=(6.0, 0.8 + 0.28 * max(len(order), 1)), layout="constrained")
    axes = figure.add_subplot()
    rows = np.arange(len(order))[::-1]
    axes.axvline(0.0, color="0.7", linewidth=0.8)
    axes.errorbar(weight, rows, xerr=[weight - low, high - weight], fmt="o", color="tab:blue", capsize=2)
    axes.set_yticks(
        rows, [name if i not in numbers else f"{name} (1 sd)" for i, name in zip(order, names, strict=True)]
    )
    axes.set(xlabel=f"adds to {unmathed(model.target)} (95% credible interval)")
    return figure
