"""Hidden Markov models: states, transitions and emissions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from credo.present.content import GAP, TOP_HINT, Content, Drawing, Paragraph, Table, TableColumn
from credo.present.numbers import count_of, counts_form, one_line

if TYPE_CHECKING:
    from credo.models.hidden_markov.forecasting import Forecast
    from credo.models.hidden_markov.model import HiddenMarkov

LISTED_STATES, EMISSION_LINES = 12, 30  # states in a table; lines of emission parameters
STATE_CHARACTERS = 24  # of a state's name


def states_content(model: HiddenMarkov, top: int | None = None) -> list[Content]:
    """The contents of a fitted hidden Markov model."""
    if model.evidence is None:
        return [Paragraph(repr(model))]
    how = "hidden: found by EM" if model.hidden else "given: counted"
    title = f"{count_of(model.n_states, 'state')} of {count_of(model.n_sequences, 'sequence')}, {how}"
    contents: list[Content] = [Paragraph(title, "title"), _states(model), GAP]
    contents += [Paragraph("P(next state | state)", "title"), _transitions(model), GAP]
    contents += _parameters(model, top or EMISSION_LINES)
    if model.tried:
        contents += [GAP, Paragraph("Numbers of states tried, by approximate evidence", "title"), _tried(model)]
    return contents


def _states(model: HiddenMarkov) -> Table:
    """A row for each state: its rows, P(first state), and its mean duration 1/(1 - P(same state))."""
    shown = slice(0, LISTED_STATES)
    weights = model.state_weights
    stay = np.diagonal(model.transition_shares)
    with np.errstate(divide="ignore"):
        lasting = model.chain.pattern.durations - 1 + 1 / (1 - stay)
    return Table(
        [
            TableColumn(one_line(model.column), [one_line(name, STATE_CHARACTERS) for name in model.names[shown]]),
            TableColumn("rows", weights[shown].tolist(), counts_form(weights[shown].tolist())),
            TableColumn("first", [*model.initial_shares.values()][shown], "share"),
            TableColumn("lasts, rows", [float(n) for n in lasting[shown]], ".1f"),
        ],
        Drawing("bars", (weights / weights.sum())[shown].tolist(), "share of rows", narrowest=4, widest=24),
    )


def _transitions(model: HiddenMarkov) -> Table:
    names = [one_line(name, STATE_CHARACTERS) for name in model.names[:LISTED_STATES]]
    shares = model.transition_shares[:LISTED_STATES, :LISTED_STATES]
    return Table(
        [TableColumn("", names), *(TableColumn(name, shares[:, k].tolist(), ".3f") for k, name in enumerate(names))]
    )


def _parameters(model: HiddenMarkov, top: int) -> list[Content]:
    """The parameters of each column, by state."""
    emission, table = model.chain.emission, emission_table(model, top)
    if table is None:
        return [Paragraph(f"Each state is a mixture of {emission.components} components.")]
    rest = len(emission.conditional.describe()) - top
    more: list[Content] = [Paragraph(count_of(rest, "more parameter"), hint=TOP_HINT)] if rest > 0 else []
    return [Paragraph("Emissions in each state", "title"), table, *more]


def emission_table(model: HiddenMarkov, top: int = EMISSION_LINES) -> Table | None:
    """Parameters of each column, by state; None where each state is a mixture itself."""
    if model.chain.emission.components > 1:
        return None
    lines = model.chain.emission.conditional.describe()
    names = [one_line(name, STATE_CHARACTERS) for name in model.names[:LISTED_STATES]]
    return Table(
        [
            TableColumn("column", [line.column for line in lines[:top]], wraps=True),
            TableColumn("", [one_line(line.name, STATE_CHARACTERS) for line in lines[:top]]),
            *(
                TableColumn(name, [float(line.estimates[k]) for line in lines[:top]], ".4g")
                for k, name in enumerate(names)
            ),
        ]
    )


def _tried(model: HiddenMarkov) -> Table:
    posterior = model.state_posterior
    return Table(
        [
            TableColumn("states", [each.states for each in model.tried], "count"),
            TableColumn("log evidence", [each.log_evidence for each in model.tried], ".2f"),
            TableColumn("P(states)", [posterior[each.states] for each in model.tried], ".4f"),
            TableColumn("BIC", [each.bic for each in model.tried], ".2f"),
            TableColumn("log-likelihood", [each.log_likelihood for each in model.tried], ".2f"),
        ]
    )


def forecast_content(found: Forecast, top: int | None = None) -> list[Content]:
    """P(state), and each column's predictive: P(value), or its mean and 95% interval."""
    rows: list[tuple[str, str, float | None, tuple[float, ...] | None]] = [
        ("state", str(state), float(p), None) for state, p in found.states.items()
    ]
    for name, law in found.items():
        if isinstance(law, Mapping):
            rows += [(name, str(value), float(p), None) for value, p in law.items()]
        else:
            rows.append((name, f"{float(law.mean()):.5g}", None, tuple(map(float, law.interval(0.95)))))
    shown = rows[: top or EMISSION_LINES]
    names, values, shares, ends = zip(*shown, strict=True)
    first = [name if not i or names[i - 1] != name else "" for i, name in enumerate(names)]
    columns = [TableColumn("", first), TableColumn("value, or mean", values), TableColumn("P", shares, ".4f")]
    columns.append(TableColumn("95% interval", ends, ".5g"))
    title = f"Forecast, {count_of(found.steps, 'step')} ahead"
    return [Paragraph(title, "title"), Table(columns, Drawing("bars", [p or 0.0 for p in shares], most=1.0))]
