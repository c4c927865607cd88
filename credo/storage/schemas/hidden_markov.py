"""How hidden Markov models are stored: settings, names of states, and evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from credo.storage.field_types import (
    ANYTHING,
    FLAG,
    NUMBER,
    TEXT,
    WHOLE,
    either,
    mapping,
    one_of,
    optional,
    tuple_of,
)
from credo.storage.schemas.core import EVIDENCE
from credo.storage.schemas.learned import learned
from credo.storage.schemas.models import ESTIMATE, FORMS
from credo.storage.stored import Stored

if TYPE_CHECKING:
    from credo.core.evidence import Evidence
    from credo.core.labels import Label
    from credo.models.hidden_markov.model import HiddenMarkov


def _holds(model: HiddenMarkov) -> bool:
    """Whether the evidence has the form of what the model makes of a row: kernels rely on that."""
    if model.evidence is None:
        return model.column is None or not model.names
    from credo.core.membership import Hard
    from credo.data import Batch
    from credo.data.sequences import SequenceBatch
    from credo.models.hidden_markov.chain import INITIAL, TRANSITIONS
    from credo.models.hidden_markov.expecting import EQUAL

    evidence, column = model.evidence, str(model.column)
    if column in model.views or column not in evidence.schema.names:
        return False
    if evidence.schema[column].values != model.names or not {INITIAL, TRANSITIONS} <= evidence.parts.keys():
        return False
    one = SequenceBatch(Batch(0, 1, {}), np.array([0, 1]))
    member = Hard.of([0], len(model.names))
    fresh = model._fitting(None, EQUAL).begun(one, member, np.random.default_rng(0))
    joint = {label: part for label, part in evidence.parts.items() if _of_joint(label)}
    return learned(evidence, _without_joint(fresh), joint) and _shares_hold(model)


def _of_joint(label: Label) -> bool:
    return label.counted in ("joint", "completed")


def _without_joint(fresh: Evidence) -> Evidence:
    from credo.core.evidence import Evidence

    return Evidence(fresh.schema, {label: part for label, part in fresh.parts.items() if not _of_joint(label)})


def _shares_hold(model: HiddenMarkov) -> bool:
    """Whether parameters follow from the evidence: densities of the columns, and shares of the chain."""
    shares = model.chain.shares
    likelihoods = model.chain.emission.conditional.likelihoods
    groups = len(model.chain.emission.group_levels)
    fits = model.chain.emission.conditional.weights.shape == (groups,)
    return bool(fits and np.isfinite(shares.first).all() and np.isfinite(shares.step).all() and likelihoods)


TRIED = Stored(
    "StatesTried",
    "credo.models.hidden_markov.fitting:Tried",
    {"states": WHOLE, "log_evidence": NUMBER, "bic": NUMBER, "log_likelihood": NUMBER},
)
LEARNED = {
    "column": optional(TEXT),
    "sequence": optional(TEXT),
    "order": optional(TEXT),
    "views": FORMS,
    "names": tuple_of(ANYTHING),
    "hidden": FLAG,
    "evidence": optional(EVIDENCE.type),
    "history": tuple_of(NUMBER),
    "tried": tuple_of(TRIED.type),
}
SCHEMAS = (
    TRIED,
    Stored("Word", "credo.models.forms:Word", {"endings": WHOLE, "strength": NUMBER}),
    Stored(
        "HiddenMarkov",
        "credo.models.hidden_markov.model:HiddenMarkov",
        {
            "states": either(WHOLE, TEXT, tuple_of(ANYTHING)),
            "emission": one_of("full", "tied", "diagonal", "spherical"),
            "components": WHOLE,
            "transitions": either(TEXT, mapping(ANYTHING, tuple_of(ANYTHING)), tuple_of(tuple_of(NUMBER))),
            "initial": optional(tuple_of(ANYTHING)),
            "sticky": NUMBER,
            "duration": either(WHOLE, mapping(ANYTHING, WHOLE)),
            "smoothing": NUMBER,
            "strength": NUMBER,
            "estimate": ESTIMATE,
            "kinds": optional(mapping(TEXT, ANYTHING)),
            "starts": WHOLE,
            "steps": WHOLE,
            "tolerance": NUMBER,
            "seed": WHOLE,
            **LEARNED,
        },
        learned=tuple(LEARNED),
        consistent=_holds,
    ),
)
