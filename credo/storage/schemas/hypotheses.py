"""How finite sets of hypotheses, and concepts with their labelled rows, are stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from credo.storage import field_types as t
from credo.storage.stored import Stored

if TYPE_CHECKING:
    from credo.models.concepts.model import Concepts
    from credo.models.concepts.rows import LabelledRows
    from credo.models.hypotheses import Hypotheses


def _hypotheses_hold(space: Hypotheses) -> bool:
    """Whether these can be sums over data that leave a hypothesis possible."""
    size, ruled_out = len(space.prior), space.impossible
    alike = space.evidence.high.shape == space.evidence.low.shape == ruled_out.shape == (size,)
    if not alike or not (np.isfinite(space.evidence.high) & np.isfinite(space.evidence.low)).all():
        return False
    counted = bool((ruled_out >= 0).all() and (ruled_out <= space.n).all())
    return counted and bool(((ruled_out == 0) & (space.prior > 0)).any())


def _rows_hold(rows: LabelledRows) -> bool:
    """Whether rows are distinct, ordered, and each counted at least once."""
    size = len(rows.codes)
    if rows.codes.ndim != 2 or rows.counts.shape != (size, 2) or rows.first.shape != (size, 2):
        return False
    ordered = np.unique(rows.codes, axis=0).tolist() == rows.codes.tolist() if size else True
    counted = bool((rows.counts >= 0).all() and rows.counts.any(axis=1).all()) and rows.unlabelled >= 0
    return ordered and counted and bool((rows.first > 0).all())


def _concepts_hold(model: Concepts) -> bool:
    """Whether the rows have the schema's values and, without label noise, don't contradict each other."""
    codes = model.rows.codes
    if model.attributes is None:
        return codes.size == 0
    sizes = np.array([len(each) for each in model.attributes.values.values()])
    if codes.shape[1] != len(sizes) or not ((codes >= 0) & (codes < sizes)).all():
        return False
    known = model.target is not None or model.n == 0
    return known and (bool(model.noise) or model.version_space.contradicted is None)


ROWS = Stored(
    "LabelledRows",
    "credo.models.concepts.rows:LabelledRows",
    {"codes": t.INTEGERS, "counts": t.INTEGERS, "first": t.INTEGERS, "unlabelled": t.WHOLE},
    consistent=_rows_hold,
)
SCHEMAS = (
    Stored(
        "Hypotheses",
        "credo.models.hypotheses:Hypotheses",
        {
            "hypotheses": t.either(t.VALUES, t.FieldType("an array", lambda v: isinstance(v, np.ndarray))),
            "prior": t.FLOATS,
            "n": t.WHOLE,
            "evidence": t.class_at("credo.numerics.exact:Exact"),
            "impossible": t.INTEGERS,
        },
        learned=("n", "evidence", "impossible"),
        consistent=_hypotheses_hold,
    ),
    ROWS,
    Stored(
        "Concepts",
        "credo.models.concepts.model:Concepts",
        {
            "attributes": t.optional(t.mapping(t.TEXT, t.VALUES)),
            "target": t.optional(t.TEXT),
            "positive": t.ANYTHING,
            "noise": t.NUMBER,
            "rows": ROWS.type,
            "labels": t.pair_of(t.ANYTHING),
        },
        attributes={"attributes": "schema"},
        arguments={"attributes": "schema"},
        learned=("rows", "labels"),
        consistent=_concepts_hold,
    ),
)
