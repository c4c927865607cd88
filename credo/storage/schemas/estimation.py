"""How beliefs are stored: a prior, and the evidence that updates it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from credo.storage import field_types as t
from credo.storage.schemas.core import EVIDENCE
from credo.storage.schemas.families import FAMILY
from credo.storage.schemas.learned import learned
from credo.storage.stored import Stored

if TYPE_CHECKING:
    from credo.core.statistics import Statistics
    from credo.estimation.belief import Belief
    from credo.estimation.beliefs import Beliefs
    from credo.families import Family

RULE = t.one_of("given", "default", "empirical")


def _belief_holds(belief: Belief) -> bool:
    """Whether the prior is that of one group, and the evidence has the form that the belief produces."""
    import pyarrow as pa

    from credo.data import Batch
    from credo.estimation.belief import OBSERVATIONS, OBSERVATIONS_LABEL

    width = belief.family.width or 1
    names = (
        (OBSERVATIONS,) if belief.columns is None and not width > 1 else belief.columns or tuple(map(str, range(width)))
    )
    fresh = belief.summarise(Batch(0, 0, {name: pa.nulls(0) for name in names}), np.ones(0))
    if belief.evidence is None:
        return _of_one_group(belief.family, fresh[OBSERVATIONS_LABEL], names)
    return learned(belief.evidence, fresh) and _of_one_group(belief.family, belief.evidence[OBSERVATIONS_LABEL], names)


def _groups_hold(beliefs: Beliefs) -> bool:
    """Whether the prior is that of one group, and the evidence has the form that the groups produce."""
    import pyarrow as pa

    from credo.data import Batch

    names = (*beliefs.columns, beliefs.by)
    if not beliefs.columns or len(set(names)) < len(names):
        return False
    fresh = beliefs.summarise(Batch(0, 0, {name: pa.nulls(0) for name in names}), np.ones(0))
    if beliefs.evidence is None:
        return False  # groups exist only through their evidence
    return (
        learned(beliefs.evidence, fresh)
        and _of_one_group(beliefs.family, fresh[beliefs.label].pooled(), beliefs.columns)
        and beliefs.crowded(beliefs.evidence) is None
    )


def _of_one_group(family: Family, statistics: Statistics, names: Sequence[str]) -> bool:
    """Whether hyperparameters are those of one prior, over as many columns as there are."""
    if family.improper.any():
        return all(np.ndim(getattr(family, field.name)) == 0 for field in fields(family))
    with np.errstate(all="ignore"):
        return family.width in (None, len(names)) and np.ndim(family.log_evidence(statistics[0])) == 0


SCHEMAS = (
    Stored(
        "Belief",
        "credo.estimation.belief:Belief",
        {
            "family": FAMILY,
            "rule": RULE,
            "evidence": t.optional(EVIDENCE.type),
            "columns": t.optional(t.NAMES),
            "success": t.ANYTHING,
        },
        learned=("evidence",),
        consistent=_belief_holds,
    ),
    Stored(
        "Beliefs",
        "credo.estimation.beliefs:Beliefs",
        {
            "columns": t.NAMES,
            "by": t.TEXT,
            "family": FAMILY,
            "rule": RULE,
            "evidence": t.optional(EVIDENCE.type),
            "success": t.ANYTHING,
        },
        learned=("evidence",),
        consistent=_groups_hold,
    ),
)
