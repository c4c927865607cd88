"""Pictures of logistic regressions: weights with their credible intervals, and the log-posterior by step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from credo.present.limits import DRAWN_CLASSES
from credo.present.numbers import one_line
from credo.present.plotting import Figure

if TYPE_CHECKING:
    from credo.models.regression.logistic import LogisticRegression

FEATURE_CHARACTERS = 40  # of a feature's name


def weights_figure(model: LogisticRegression, top: int = 20) -> Figure:
    """The strongest weights of features of unit scale, with 95% credible intervals, and the log-posterior by step."""
    scale = model.encoding.scales[:, None]
    weight, spread = model.seen.mode[1:] * scale, 1.96 * np.sqrt(model.seen.variances)[1:] * scale
    classes = model.classes if weight.shape[1] > 1 else model.classes[1:]
    strongest = np.argsort(-np.abs(weight).max(1))[:top][::-1]
    figure = Figure(figsize=(9, 1.2 + 0.28 * max(len(strongest), 6)), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, 1))
    places, few = np.arange(len(strongest)), classes[:DRAWN_CLASSES]
    for k, value in enumerate(few):
        at = places + (k - (len(few) - 1) / 2) * 0.8 / max(len(few), 1)
        own = weight[strongest, k], at
        left.errorbar(*own, xerr=spread[strongest, k], fmt="o", markersize=4, label=one_line(value, 20))
    left.axvline(0.0, color="grey", linewidth=0.8)
    left.set_yticks(places, [one_line(model.encoding.names[j], FEATURE_CHARACTERS) for j in strongest])
    against = f" against {one_line(model.classes[0], 20)}" if weight.shape[1] == 1 else ""
    left.set(xlabel=f"weight (log-odds{against}, by standard deviation)")
    left.legend(fontsize="small")
    right.plot(np.arange(len(model.history)), model.history, "o-", markersize=3)
    right.set(xlabel="step", ylabel="log-posterior, up to a constant")
    return figure
