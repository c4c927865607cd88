"""How hidden Markov models are stored: settings, names of states, and evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from credo.storage import field_types as t
from credo.storage.schemas.core import EVIDENCE
from credo.storage.schemas.learned import learned
from credo.storage.schemas.models import ESTIMATE
from credo.storage.stored import Stored

if TYPE_CHECKING:
    from credo.core.evidence import Part
    from credo.core.labels import Label
    from credo.models.hidden_markov.model import HiddenMarkov


def _holds(model: HiddenMarkov) -> bool:
    """Whether the evidence has the form that the model produces, as kernels require."""
    if model.evidence is None:
        return model.column is None or not model.names
    from credo.core.evidence import Evidence
    from credo.core.membership import Hard
    from credo.data import Batch
    from credo.data.sequences import SequenceBatch
    from credo.models.hidden_markov.chain import INITIAL, TRANSITIONS
    from credo.models.hidden_markov.expecting import EQUAL_WEIGHTS
    from credo.models.hidden_markov.learning import unfitted

    evidence, column = model.evidence, str(model.column)
    if column in model.views or column not in evidence.schema.names:
        return False
    if evidence.schema[column].values != model.names or not {INITIAL, TRANSITIONS} <= evidence.parts.keys():
        return False
    one = SequenceBatch(Batch(0, 1, {}), np.array([0, 1]))
    member = Hard.of([0], len(model.names))
    fresh = unfitted(model, None, EQUAL_WEIGHTS).begun(one, member, np.random.default_rng(0))
    joint = {label: part for label, part in evidence.parts.items() if _of_joint(model, label)}
    plain = Evidence(fresh.schema, {k: part for k, part in fresh.parts.items() if not _of_joint(model, k)})
    return learned(evidence, plain, joint) and all(map(_joint_holds, joint.values())) and _shares_hold(model)


def _of_joint(model: HiddenMarkov, label: Label) -> bool:
    """Whether a part has moments of covarying numbers, one for each pattern of missing cells."""
    from credo.blocks.numbers.gaussian import Joint

    blocks = model._conditional(None).blocks
    return any(isinstance(block, Joint) and block.keeps(label) for block in blocks)


def _joint_holds(part: Part) -> bool:
    """Whether all sums have the same groups and columns."""
    n, first, second = (each.shape for each in part.statistics.sums)
    return bool(n == first == second or (n == first[:-1] and second == (*first, first[-1])))


def _shares_hold(model: HiddenMarkov) -> bool:
    """Whether the evidence gives valid parameters: densities of the columns, and probabilities of the chain."""
    shares = model.chain.shares
    likelihoods = model.chain.emission.conditional.likelihoods
    groups = len(model.chain.emission.group_levels)
    fits = model.chain.emission.conditional.weights.shape == (groups,)
    return bool(fits and np.isfinite(shares.first).all() and np.isfinite(shares.step).all() and likelihoods)


TRIED = Stored(
    "StatesTried",
    "credo.models.hidden_markov.fitting:Tried",
    {"states": t.WHOLE, "log_evidence": t.NUMBER, "bic": t.NUMBER, "log_likelihood": t.NUMBER},
)
LEARNED = {
    "column": t.optional(t.TEXT),
    "sequence": t.optional(t.TEXT),
    "order": t.optional(t.TEXT),
    "views": t.NAMES_BY_NAME,
    "names": t.VALUES,
    "hidden": t.FLAG,
    "evidence": t.optional(EVIDENCE.type),
    "history": t.NUMBERS,
    "tried": t.tuple_of(TRIED.type),
}
SCHEMAS = (
    TRIED,
    Stored("Word", "credo.models.forms:Word", {"endings": t.WHOLE, "strength": t.NUMBER}),
    Stored(
        "HiddenMarkov",
        "credo.models.hidden_markov.model:HiddenMarkov",
        {
            "states": t.either(t.WHOLE, t.TEXT, t.VALUES),
            "emission": t.either(t.TEXT, t.mapping(t.TEXT, t.ANYTHING), t.ANYTHING),
            "components": t.WHOLE,
            "transitions": t.either(t.TEXT, t.mapping(t.ANYTHING, t.VALUES), t.tuple_of(t.NUMBERS)),
            "initial": t.optional(t.VALUES),
            "sticky": t.NUMBER,
            "duration": t.either(t.WHOLE, t.mapping(t.ANYTHING, t.WHOLE)),
            "smoothing": t.NUMBER,
            "strength": t.NUMBER,
            "estimate": ESTIMATE,
            "kinds": t.KINDS,
            "starts": t.WHOLE,
            "steps": t.WHOLE,
            "tolerance": t.NUMBER,
            "seed": t.WHOLE,
            **LEARNED,
        },
        learned=tuple(LEARNED),
        consistent=_holds,
    ),
)
