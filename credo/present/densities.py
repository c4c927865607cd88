"""The distribution of a column in each class, as a classifier has learned it: plain data for figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from credo.blocks.block import Likelihood
from credo.blocks.capabilities import Draws
from credo.blocks.conjugate import ConjugateLikelihood
from credo.blocks.numbers.binned import BinnedLikelihood
from credo.blocks.subset_averaging import Averaged
from credo.data import Batch
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.models.classifier import Classifier

SINGLE_FORMS = (
    "category",
    "count",
    "gaussian",
    "date",
    "log",
    "coarse",
    "binned",
    "conjugate",
)  # forms that model a column by itself
SIMULATED_CELLS = 500  # per class, to find the range of a density
DENSITY_POINTS, MOST_COUNTS = 121, 60  # of a curve; and the most counts drawn one by one


class Shape(NamedTuple):
    """The distribution of a column in each class: places, and the density or probability there. (classes, places)

    Bins have one place more than heights: their edges.
    """

    form: str
    places: Any
    heights: Array


def shape_of(model: Classifier, name: str) -> Shape | None:
    """The distribution of a column by itself, without tuned weights; None if it can't be drawn."""
    form, likelihood = _likelihood(model, name)
    if likelihood is None:
        return None
    if form == "category":
        levels = model.seen.schema[name].levels
        heights = np.exp(_log_density(model, likelihood, name, levels))
        return Shape(form, levels.to_pylist(), heights) if len(levels) else None
    if form in ("coarse", "binned"):
        return _bins(form, likelihood, name)
    codes = np.repeat(np.arange(len(model.classes)), SIMULATED_CELLS)
    drawn = np.asarray(Draws.needed(likelihood).sample(codes, np.random.default_rng(0))[name], dtype=np.float64)
    if not np.isfinite(drawn).all():
        return None
    low, high = np.quantile(drawn, [0.003, 0.997])
    # A Gaussian extends to impossible values, such as ages below 0.
    if form in ("gaussian", "log") and (known := model.seen.schema[name].values):
        low, high = max(low, min(known)), min(high, max(known))
    if form == "count":
        places = np.unique(np.linspace(max(low, 0), high + 1, MOST_COUNTS).round())
    else:
        places = np.geomspace(low, high, DENSITY_POINTS) if form == "log" else np.linspace(low, high, DENSITY_POINTS)
    return Shape(form, places, np.exp(_log_density(model, likelihood, name, pa.array(places))))


def _likelihood(model: Classifier, name: str) -> tuple[str, Likelihood | None]:
    """The column's likelihood in the form that the tuned model uses, else in the requested one."""
    tuning = model.tuning
    used = () if tuning is None else tuning.forms.get(name, ())
    form = next((form for form in (*used, *model.views.get(name, ())) if form in SINGLE_FORMS), "")
    settings = model.settings if tuning is None else tuning.applied_to(model.settings)
    for own, likelihood in model.terms_of({name: (form,)}, settings).likelihoods:
        if own == form:
            return likelihood.family.reads if isinstance(likelihood, ConjugateLikelihood) else form, likelihood
    return form, None


def _log_density(model: Classifier, likelihood: Likelihood, name: str, cells: Any) -> Array:
    """log p(cell | class), the other columns marginalised; of the logarithm where that is the form. (classes, cells)"""
    batch = Batch(0, len(cells), {name: cells}).filled(model.views)
    out = np.zeros((len(cells), len(model.classes)))
    likelihood.add(likelihood.read(batch), out)
    return out.T


def _bins(form: str, likelihood: Likelihood, name: str) -> Shape | None:
    """The edges of the bins, and the density in each: its share of the class, divided by its width."""
    own = likelihood.dependent if isinstance(likelihood, Averaged) else likelihood
    assert isinstance(own, BinnedLikelihood)
    j = own.names.index(name)
    sketch, share = own.sketches[j], own.bins.shares[j]
    if not len(sketch.values):
        return None
    narrowest = float(np.diff(sketch.values).min(initial=np.inf))  # a last bin of one value has no width
    last = sketch.values[-1] + (narrowest if np.isfinite(narrowest) else 1.0)
    edges = np.append(sketch.values[sketch.starts], last)
    return Shape(form, edges, share / np.diff(edges))
