"""What distinguishes each component: the columns, and how they differ."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, log10
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from scipy.special import rel_entr

from credo.blocks.block import Parameter, Scale
from credo.core.records import Shown
from credo.data.cells import instants
from credo.errors import counted
from credo.models.discriminant import GaussianDiscriminant
from credo.models.forms import TEXT_FORMS
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.models.mixture.model import Mixture

# Smaller differences, relative to a deviation, or to a mean if there is none, aren't called higher or lower.
SLIGHT_SHIFT, SLIGHT_DEVIATION_CHANGE = 0.01, 0.1
LEAST_DIVERGENCE = 1e-4  # nats: columns with less are described by their commonest value
LEAST_DIGITS, MOST_DIGITS = 4, 15  # of a mean
LEAST_SIZE = -4  # of a number that is printed without an exponent: 0.0001
SHOWN_TRAITS, SHOWN_WORDS = 5, 6  # printed per component; per text


@dataclass(frozen=True)
class Trait:
    """A column in a component, and in the other components."""

    column: str
    here: str
    elsewhere: str
    nats: float  # mean weight of evidence of a cell (Kullback-Leibler divergence), in nats


@dataclass(frozen=True)
class Component:
    """A component, and its columns, the most distinctive first."""

    name: Any
    share: float
    traits: tuple[Trait, ...]


@dataclass(frozen=True)
class Description(Shown):
    """What distinguishes each component from the others."""

    groups: str
    components: tuple[Component, ...]

    def table(self) -> pa.Table:
        """An Arrow table: a row for each column of each component."""
        rows = [(each.name, each.share, trait) for each in self.components for trait in each.traits]
        return pa.table(
            {
                self.groups: pa.array([name for name, _, _ in rows]),
                "share": pa.array([share for _, share, _ in rows], type=pa.float64()),
                "column": pa.array([trait.column for _, _, trait in rows], type=pa.string()),
                "here": pa.array([trait.here for _, _, trait in rows], type=pa.string()),
                "elsewhere": pa.array([trait.elsewhere for _, _, trait in rows], type=pa.string()),
                "nats": pa.array([trait.nats for _, _, trait in rows], type=pa.float64()),
            }
        )

    def __repr__(self) -> str:
        lines = []
        for each in self.components:
            lines.append(f"{self.groups} {each.name}, {each.share:.1%} of the rows")
            for trait in each.traits[:SHOWN_TRAITS]:
                others = f" (others {trait.elsewhere})" if trait.elsewhere else ""
                lines.append(f"  {trait.column} {trait.here}{others}")
            if len(each.traits) > SHOWN_TRAITS:
                lines.append(f"  and {counted(len(each.traits) - SHOWN_TRAITS, 'more column')}")
        return "\n".join(lines)


def described(mixture: Mixture) -> Description:
    model = mixture.classifier
    shares = mixture.shares
    by_column: dict[str, list[Parameter]] = {}
    for _, likelihood in model.terms.likelihoods:
        if likelihood.names[0] in model.views and model.views[likelihood.names[0]][0] not in TEXT_FORMS:
            for line in likelihood.parameters():
                for column in likelihood.names if line.column is None else [line.column]:
                    by_column.setdefault(column, []).append(line)
    weights = np.array([*shares.values()])
    found = []
    for k, name in enumerate(mixture.names):
        traits = [trait for column, lines in by_column.items() if (trait := _trait(column, lines, k, weights))]
        traits += _texts(model, k)
        ordered = sorted(traits, key=lambda trait: -trait.nats)
        found.append(Component(name, shares[name], tuple(ordered)))
    return Description(str(model.target), tuple(found))


def _trait(column: str, lines: list[Parameter], k: int, weights: Array) -> Trait | None:
    """The trait of one column, from its parameters: mean and deviation, rate, or probabilities of values."""
    known = {line.what: line for line in lines}
    rest = np.where(np.arange(len(weights)) == k, 0.0, weights)
    alone = not rest.any()
    rest = rest / rest.sum() if not alone else rest
    if "mean" in known:
        sd = known["sd"].estimates if "sd" in known else None
        return _number(column, known["mean"].estimates, sd, k, rest, known["mean"].scale)
    if "rate" in known:
        rate = known["rate"].estimates
        here, there = float(rate[k]), float(rest @ rate)
        nats = 0.0 if alone else float(rel_entr(here, there) - here + there)
        return Trait(column, f"{_compared(here, there, alone)}{here:.4g}", "" if alone else f"{there:.4g}", nats)
    values = [line for line in lines if line.what == "probability"]
    if not values:
        return None
    table = np.array([line.estimates for line in values])  # (values, components)
    own, others = table[:, k], table @ rest
    nats = 0.0 if alone else float(rel_entr(own, others).sum())
    v = int(own.argmax() if nats < LEAST_DIVERGENCE else rel_entr(own, others).argmax())
    return Trait(column, f"{values[v].of}: {own[v]:.0%}", "" if alone else f"{others[v]:.0%}", nats)


def _number(column: str, mean: Array, sd: Array | None, k: int, rest: Array, scale: Scale) -> Trait:
    """The trait of a number: its Gaussian against the others' mean and variance."""
    alone, here, there = not rest.any(), float(mean[k]), float(rest @ mean)
    spread = np.zeros_like(mean) if sd is None else sd
    variance, wider = float(spread[k] ** 2), float(rest @ (spread**2 + (mean - there) ** 2))
    nats = 0.0
    if not alone and variance > 0 and wider > 0:
        nats = 0.5 * (np.log(wider / variance) + (variance + (here - there) ** 2) / wider - 1)
    deviation = "" if sd is None else f" ± {_rounded(own := float(spread[k]), own)}"
    if scale == "days":
        said = "" if alone or abs(here - there) < 1 else "later: " if here > there else "earlier: "
        return Trait(column, f"{said}{_day(here)}{deviation} days", "" if alone else _day(there), float(nats))
    unit, slight = " log" if scale == "logarithms" else "", SLIGHT_DEVIATION_CHANGE * np.sqrt(min(variance, wider))
    said = f"{_compared(here, there, alone, float(slight))}{_rounded(here, float(spread[k]))}"
    others = "" if alone else _rounded(there, float(np.sqrt(wider)))
    return Trait(column, f"{said}{deviation}{unit}", others, float(nats))


def _rounded(number: float, deviation: float) -> str:
    """To the three digits that its deviation is shown with.

    >>> _rounded(1.05e-05, 0.792), _rounded(4.2634, 0.401), _rounded(3365.2, 310.0), _rounded(0.125, 0.0)
    ('0', '4.263', '3365', '0.125')
    >>> _rounded(1234567.8, 0.5), _rounded(52_417.0, 2930.0), _rounded(2930.4, 2930.4), _rounded(3e-9, 1e-9)
    ('1234567.8', '52420', '2930', '3e-09')
    """
    decimals = 2 - floor(log10(deviation)) if deviation > 0 else MOST_DIGITS
    known = round(number, decimals)
    size = floor(log10(abs(known))) + 1 if known else 1  # digits before the point
    shown = min(max(LEAST_DIGITS, size + decimals), MOST_DIGITS)
    if known and not LEAST_SIZE < size <= MOST_DIGITS:
        return f"{known:.{shown}g}"
    plain = f"{round(known, shown - size) + 0.0:.{max(shown - size, 0)}f}"
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def _day(days: float) -> str:
    """Days since 1970 as a date."""
    date = instants(np.round([days]))[0].as_py()
    return f"day {days:.4g}" if date is None else date.date().isoformat()


def _compared(here: float, there: float, alone: bool, slight: float = 0.0) -> str:
    if alone or abs(here - there) <= (slight or SLIGHT_SHIFT * abs(there)):
        return ""
    return "higher: " if here > there else "lower: "


def _texts(model: GaussianDiscriminant, k: int) -> list[Trait]:
    """The words with the largest weight for the component."""
    found = []
    for name, forms in model.views.items():
        if forms[0] in TEXT_FORMS and len(model.classes) > 1:
            top = model.top_words(model.classes[k], SHOWN_WORDS, column=name)
            words, nats = top["word"].to_pylist(), float(np.sum(top["weight"].to_numpy() * top["count"].to_numpy()))
            found.append(Trait(name, f"says {', '.join(words)}", "", nats / max(float(model.class_weights[k]), 1.0)))
    return found


def summary(mixture: Mixture) -> str:
    """
    >>> from credo import Mixture
    >>> Mixture(3)
    Mixture(components=3), nothing learned yet
    """
    if mixture.fitted is None:
        return f"Mixture(components={mixture.components!r}), nothing learned yet"
    model = mixture.fitted
    size = f"{counted(len(model.classes), 'component')} of {counted(model.n, 'row')}"
    shares = ", ".join(f"{name}: {share:.1%}" for name, share in [*mixture.shares.items()][:8])
    more = ", ..." if len(model.classes) > 8 else ""
    return (
        f"Mixture of {size} and {counted(len(model.views), 'column')}, covariance {model.covariance} ({shares}{more})"
    )
