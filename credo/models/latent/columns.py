"""p(columns | hidden group): blocks of columns, at the mode during EM, by the chosen estimate for predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from credo.blocks.block import Block, Settings
from credo.blocks.capabilities import Rounds
from credo.blocks.conjugate import describes_numbers
from credo.data import Source
from credo.errors import PriorError
from credo.families.family import Family
from credo.families.normal_inverse_wishart import Covariance
from credo.models.conditional import Conditional
from credo.models.form_blocks import blocks_of, with_covariance
from credo.models.forms import Views, settled_views
from credo.models.latent.resolution import Recorded, recorded
from credo.notices import listed, tell

Numbers = Mapping[str, Recorded]  # the resolution of each number column


def hidden_views(
    table: Source, features: Sequence[str], kinds: Mapping[str, Any] | None
) -> tuple[Source, Views, Numbers]:
    """The form of each column, as for a classifier, and the resolution of number columns. A number with few distinct
    values, such as a year or a die's face, is a category: otherwise hidden groups would fit single values."""
    families = {name: how for name, how in (kinds or {}).items() if isinstance(how, Family)}
    for name, family in families.items():
        check_describes_numbers(family, f"kinds of {name!r}")
    table, views = settled_views(table, features, kinds and {**kinds, **dict.fromkeys(families, "number")})
    views = {**views, **dict.fromkeys((name for name in families if name in views), ("conjugate",))}
    numbers = recorded_numbers(table, views)
    few = [name for name, each in numbers.items() if each.is_few and name not in (kinds or {})]
    if few:
        tell(
            f"{listed(few)}: few distinct numbers, read as {'a category' if len(few) == 1 else 'categories'}; "
            f"kinds={{{few[0]!r}: 'number'}} reads {'it' if len(few) == 1 else repr(few[0])} as a number"
        )
        views = {**views, **dict.fromkeys(few, ("category",))}
    return table, views, {name: each for name, each in numbers.items() if name not in few}


def check_describes_numbers(family: Family, what: str) -> None:
    """Raise an error for families that don't describe one column of numbers."""
    if not describes_numbers(family):
        raise PriorError(
            f"{what}: {type(family).__name__} isn't about one column of numbers. GammaPoisson, GammaExponential, "
            "NormalMean and NormalInverseGamma are; categories are read as kind 'category', with smoothing="
        )


def recorded_numbers(table: Source, views: Views) -> Numbers:
    """What `resolution.recorded` finds; empty if rows can be read only once."""
    names = [name for name, forms in views.items() if forms == ("gaussian",) and name in table.names]
    return {} if table.once or not names else recorded(table, names)


def hidden_blocks(
    views: Views, kinds: Mapping[str, Any] | None, covariance: Covariance, numbers: Numbers | None = None
) -> tuple[Block, ...]:
    """A block for each form; `covariance` is that of the number columns. During EM, rounding is modelled."""
    blocks = tuple(block for _, block in with_covariance(blocks_of(views, kinds), covariance))
    return blocks if not numbers else rounded_blocks(blocks, numbers)


def rounded_blocks(blocks: Sequence[Block], numbers: Numbers) -> tuple[Block, ...]:
    steps = {name: each.resolution for name, each in numbers.items() if each.resolution > 0}
    found = ((block, Rounds.of(block)) for block in blocks)
    return tuple(
        block if rounds is None or steps.keys().isdisjoint(block.names) else rounds.rounded(steps)
        for block, rounds in found
    )


def at_mode(settings: Settings) -> Settings:
    """Settings for EM: the mode of the posterior, or maximum likelihood if that is asked for.

    Probabilities and rates are parametrised by their logarithms, so that the mode is the posterior mean of the
    probability, (n + l)/Σ(n + l). None is 0: values unseen in a group stay possible.
    """
    if settings.estimate == "ml":
        return settings
    return replace(settings, estimate="map", smoothing=settings.smoothing + 1.0, log_rates=True)


def fitting(conditional: Conditional, numbers: Numbers) -> Conditional:
    """The conditional with the settings of EM."""
    blocks = rounded_blocks(conditional.blocks, numbers)
    return replace(conditional, blocks=blocks, settings=at_mode(conditional.settings))
