"""The options --prior and --family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from credo.families import Family

# The families of one column, and the numbers of their priors.
PRIOR_NUMBERS = {
    "beta-bernoulli": "a,b",
    "dirichlet-categorical": "concentration",
    "gamma-exponential": "shape,rate",
    "gamma-poisson": "shape,rate",
    "normal-inverse-gamma": "mean,strength,shape,scale",
    "normal-mean": "mean,sd,noise_sd",
    "pareto-uniform": "scale,shape",
}
# The families with default priors, and their kinds of columns.
FAMILY_KINDS = {
    "beta-bernoulli": "category",
    "dirichlet-categorical": "category",
    "gamma-poisson": "count",
    "normal-inverse-gamma": "number",
}


def parse_prior(ctx: click.Context, param: click.Parameter, value: str) -> str | tuple[float, ...]:
    """ "default", "empirical", or the numbers that stand between commas."""
    if value in ("default", "empirical"):
        return value
    try:
        return tuple(float(number) for number in value.split(","))
    except ValueError:
        message = f"{value!r} is neither numbers (as in 2,2) nor 'default' nor 'empirical'"
        raise click.BadParameter(message, ctx, param) from None


def asked_kinds(column: str, kind: str | None, family: str | None, prior: object) -> dict[str, str]:
    """The column's kind, from --kind or from a --family without numbers."""
    if family is None or isinstance(prior, tuple):
        return {column: kind} if kind else {}
    if family not in FAMILY_KINDS:
        raise click.UsageError(
            f"--family {family} has no default prior: give its numbers, --prior {PRIOR_NUMBERS[family]}"
        )
    if kind not in (None, FAMILY_KINDS[family]):
        raise click.UsageError(f"--family {family} is for a {FAMILY_KINDS[family]}, but --kind says {kind}")
    return {column: FAMILY_KINDS[family]}


def with_numbers(
    data: object, column: str, family: str | None, numbers: Sequence[float], kinds: Mapping[str, str], success: object
) -> Family:
    """The named family, or the one that fits the column, with those numbers."""
    from credo.data import source
    from credo.families import FAMILIES, priors

    if family is None:
        table = source(data)
        table.require([column])
        fitting = type(priors.families(table, [column], "default", kinds, success)[column])
        family = next(name for name in PRIOR_NUMBERS if class_name(name) == fitting.__name__)
    if len(numbers) != PRIOR_NUMBERS[family].count(",") + 1:
        given = ",".join(f"{number:g}" for number in numbers)
        raise click.UsageError(f"--prior {given}: {family} takes {PRIOR_NUMBERS[family]}")
    return FAMILIES[class_name(family)](*numbers)


def class_name(family: str) -> str:
    """
    >>> class_name("beta-bernoulli")
    'BetaBernoulli'
    """
    return "".join(word.capitalize() for word in family.split("-"))
