"""Learning a hidden Markov model: given states are counted, hidden ones inferred by EM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from credo.core.em import expected, interruptible_em
from credo.core.evidence import Evidence
from credo.core.learning import RowWeights, Weight
from credo.data import Source
from credo.data.free_names import free_name
from credo.errors import DataError, EvidenceError, SchemaError, counted
from credo.models.hidden_markov.expecting import HiddenChain
from credo.models.hidden_markov.fitting import (
    Continued,
    Reader,
    Tried,
    begun_with,
    climbed,
    counted_states,
    judged,
)
from credo.models.hidden_markov.given import START, TARGET, Given, with_given
from credo.models.hidden_markov.naming import names_of
from credo.models.latent.columns import Numbers, fitting, hidden_views, recorded_numbers
from credo.notices import tell

if TYPE_CHECKING:
    from credo.models.hidden_markov.model import HiddenMarkov

MOST_STATES = 20  # that states="auto" tries
NUMBERS_WITHOUT_GAIN = 2  # numbers of states without a gain, after which it stops


class Sequenced(NamedTuple):
    """The columns that identify and order sequences."""

    sequence: str | None
    order: str | None
    weight: Weight


def learned(model: HiddenMarkov, table: Source, target: object, how: Sequenced, start: object) -> Any:
    """The model fitted to sequences."""
    table, given = with_given(table, target, None if isinstance(model.states, str | int) else model.states)
    names = names_of(model.states, () if given is None else given.states)
    table, begun = with_given(table, start, names or None, START)
    names = names or (() if begun is None else begun.states)
    model, table, numbers = prepared(model, table, (given, begun), how)
    if names:
        given = None if given is None else replace(given, states=names)
        found = _with_states(model.replaced(names=names), table, numbers, (given, begun), how.weight)
    else:
        found = _chosen(model, table, numbers, how.weight)
    if not found.state_weights.any():
        raise DataError("all weights are zero: there are no rows to learn from")
    return _in_currencies(found, table)


def _in_currencies(model: HiddenMarkov, table: Source) -> HiddenMarkov:
    """The model with the currency signs of its columns."""
    signs = table.currencies([name for name in model.views if name in table.names])
    return model.replaced(evidence=model._seen.in_currencies(signs))


def prepared(
    model: HiddenMarkov, table: Source, given: Sequence[Given | None], how: Sequenced
) -> tuple[HiddenMarkov, Source, Numbers]:
    """The model with the views of its columns."""
    apart = {name for each in given if each is not None for name in each.names} | {how.sequence, how.order}
    apart |= {how.weight} if isinstance(how.weight, str) else set()
    table.require([name for name in apart if name is not None])
    features = [name for name in table.names if name not in apart]
    if not features:
        raise SchemaError("there is no column to learn from beside those of states, sequences and weights")
    table, views, numbers = hidden_views(table, features, model.kinds_of(features))
    if not views:
        raise SchemaError("there is no column to learn from: all of them are ignored")
    target = given[0].column if given[0] is not None else None
    column = target if target is not None else free_name(TARGET, table.names)
    empty = {"names": (), "evidence": None, "history": (), "tried": ()}
    read = {"column": column, "sequence": how.sequence, "order": how.order, "views": views}
    return model.replaced(**read, **empty), table, numbers


def _with_states(
    model: HiddenMarkov, table: Source, numbers: Numbers, known: tuple[Given | None, Given | None], weight: Weight
) -> HiddenMarkov:
    """The model fitted with named states; `known` are the states of some rows, and EM's start."""
    reader, weights = _read(model, table, known, weight)
    given, begun = known
    chain = unfitted(model, given, weights, numbers)
    start: Evidence | None = None
    if begun is not None:
        start = begun_with(replace(chain, given=begun), reader, model.seed)
    elif given is not None:
        found, hidden = counted_states(_counting(model, chain), reader)
        if not hidden and model.components == 1 and model.pattern.plain:
            return model._with_evidence(found, hidden=False)
        if (found.level_weights(str(model.column)) > 0).all():  # every state was given to some row
            start = begun_with(chain, reader, model.seed)
    _check_columns(model)
    fit = climbed(chain, reader, model._search, start)
    if not (fit.converged or fit.interrupted):
        tell(f"EM ended after {counted(model.steps, 'step')}, before it converged: increase steps=")
    return model._with_evidence(fit.evidence, hidden=True, history=fit.history)


def _chosen(model: HiddenMarkov, table: Source, numbers: Numbers, weight: Weight) -> HiddenMarkov:
    """The model fitted with the number of states chosen by evidence."""
    _check_columns(model)
    reader, weights = _read(model, table, (), weight)
    found: list[tuple[Tried, HiddenMarkov]] = []
    smaller: HiddenChain | None = None
    for size in range(1, MOST_STATES + 1):
        own = model.replaced(names=tuple(range(size)))
        fit = climbed(unfitted(own, None, weights, numbers), reader, model._search, None, smaller)
        smaller = fit.model
        after = own._with_evidence(fit.evidence, hidden=True, history=fit.history)
        found.append((judged(fit, model.settings), after))
        best, chosen = max(found, key=lambda pair: pair[0].log_evidence)
        if fit.interrupted or size - best.states >= NUMBERS_WITHOUT_GAIN:
            break
        if 2 * (size + 1) > after.n:  # a state with one or two rows isn't evidence
            break
    return chosen.replaced(tried=tuple(tried for tried, _ in found))


def continued(model: HiddenMarkov, table: Source, target: object, weight: Weight) -> Any:
    """The model after more sequences: counted if all states are given; otherwise EM continues, with the old evidence
    kept."""
    model = _in_currencies(model, table)
    seen = model._seen
    table, given = _given_more(model, table, target)
    reader, weights = _read(model, table, (given,), weight)
    chain = unfitted(model, given, weights, recorded_numbers(table, model.views))
    if given is not None and not model.hidden:
        found, hidden = counted_states(_counting(model, chain), reader)
        if not hidden:
            return model._with_evidence(Evidence.total([seen, found]), hidden=False)
    _check_columns(model)
    before = Continued(chain.with_evidence(seen), seen)
    evidence, _ = expected(before, reader)  # values that later rows alone have count from the first step on
    fit = interruptible_em(before.with_evidence(evidence), reader, steps=model.steps, tolerance=model.tolerance)
    return model._with_evidence(Evidence.total([seen, fit.evidence]), hidden=True, history=fit.history)


def given_evidence(model: HiddenMarkov, table: Source, target: object, weight: Weight) -> Evidence:
    """The evidence of rows whose states are all given."""
    table, given = _given_more(model, table, target)
    if given is None:
        raise SchemaError(f"the states of the rows are in column {model.column!r}, which the table doesn't have")
    reader, weights = _read(model, table, (given,), weight)
    found, hidden = counted_states(_counting(model, unfitted(model, given, weights)), reader)
    if hidden:
        raise EvidenceError(f"{counted(hidden, 'row')} without a state: only rows with one were learned")
    return found


def _given_more(model: HiddenMarkov, table: Source, target: object) -> tuple[Source, Given | None]:
    """The given states of further rows, in the known column."""
    column = str(model.column)
    if target is None:
        return table, Given(model.names, column) if not model.hidden and column in table.names else None
    if isinstance(target, str) and target != column:
        raise SchemaError(f"the states were in column {column!r} so far, not in {target!r}")
    return with_given(table if isinstance(target, str) else table.without(column), target, model.names, column)


def _read(
    model: HiddenMarkov, table: Source, given: Sequence[Given | None], weight: Weight
) -> tuple[Reader, RowWeights]:
    rows, weights = model._table(table, given).weighted(weight)
    rows.tell_empty()
    return rows.reader([name for name, forms in model.views.items() if forms[0] == "gaussian"]), weights


def unfitted(
    model: HiddenMarkov, given: Given | None, weights: RowWeights, numbers: Numbers | None = None
) -> HiddenChain:
    """The chain for EM, without parameters yet."""
    conditional = fitting(model._conditional(None), numbers or {})
    return model._chain(conditional, "ml" if model.estimate == "ml" else "mean", given, weights)


def _counting(model: HiddenMarkov, chain: HiddenChain) -> HiddenChain:
    """The chain for counting given states."""
    return replace(chain, emission=replace(chain.emission, conditional=model._conditional(None)))


def _check_columns(model: HiddenMarkov) -> None:
    """Raise an error for columns that EM can't fit."""
    for name, forms in model.views.items():
        if forms[0] == "word":
            raise EvidenceError(
                f"column {name!r} holds words that are judged by their spelling, which EM can't fit: give every state, "
                "or read it as a category"
            )
