"""p(columns | hidden group): the blocks of columns, at the mode while EM runs, and as asked for when it predicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from credo.blocks.block import Block, Settings
from credo.core.evidence import Evidence
from credo.families.normal_inverse_wishart import Covariance
from credo.models.conditional import Conditional
from credo.models.form_blocks import blocks_of, with_covariance
from credo.models.forms import Views


def hidden_blocks(views: Views, kinds: Mapping[str, Any] | None, covariance: Covariance) -> tuple[Block, ...]:
    """A block for each form; number columns covary as `covariance` says."""
    return tuple(block for _, block in with_covariance(blocks_of(views, kinds), covariance))


def at_mode(settings: Settings) -> Settings:
    """Settings for EM: the mode of the posterior, or maximum likelihood if that is asked for.

    Shares and rates are taken as their logarithms, whose density has its mode at the posterior's mean of the share:
    (n + l)/Σ(n + l). So none is 0, and what a group hasn't shown so far stays possible.
    """
    if settings.estimate == "ml":
        return settings
    return replace(settings, estimate="map", smoothing=settings.smoothing + 1.0, log_rates=True)


def fitting(conditional: Conditional) -> Conditional:
    """The same columns as EM takes them."""
    return replace(conditional, settings=at_mode(conditional.settings))


def predicting(conditional: Conditional, evidence: Evidence) -> Conditional:
    """The same columns after the evidence, as predictions take them."""
    return replace(conditional, evidence=evidence)
