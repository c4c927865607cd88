"""The probabilities of arrows, as tables and as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo.present.content import GAP, Content, Drawing, Paragraph, Table, TableColumn
from credo.present.limits import TABLE_LINES
from credo.present.numbers import count_of

if TYPE_CHECKING:
    from credo.networks.structure.confidence import EdgeConfidence

LEAST_PROBABILITY = 0.01  # of a listed arrow
ORDER_PRIORS = {"orders": "a uniform prior over orders", "dags": "a uniform prior over graphs"}


def how(found: EdgeConfidence) -> str:
    """How the probabilities were found, in a sentence."""
    if found.method == "bootstrap":
        return f"Frequency of each arrow in searches on {count_of(found.replicates, 'bootstrap sample')}"
    prior = ORDER_PRIORS[found.prior]
    if found.convergence is None:
        paths = f"; paths from {count_of(found.paths_drawn, 'drawn graph')}" if found.paths_drawn else ""
        return f"Exact posterior probabilities, with {prior}{paths}"
    c = found.convergence
    agree = "have converged" if c.reached else "haven't converged"
    return (
        f"Posterior probabilities from {count_of(c.chains, 'chain')} over orders, with {prior}; the chains {agree} "
        f"(R-hat {c.r_hat:.3f}; arrows differ by up to {c.largest_difference:.2f})"
    )


def confidence_content(
    found: EdgeConfidence, top: int | None = None, least: float = LEAST_PROBABILITY
) -> list[Content]:
    """The most probable arrows, each with its reverse and with the probability of a path."""
    rows = found.ranked(least)
    shown = rows[: top or TABLE_LINES]
    table = Table(
        [
            TableColumn("arrow", [f"{a} -> {b}" for a, b, _ in shown], longest=60),
            TableColumn("probability", [p for _, _, p in shown], ".3f"),
            TableColumn("reversed", [found[b, a] for a, b, _ in shown], ".3f"),
            TableColumn("any path", [found.path(a, b) for a, b, _ in shown], ".3f", rank=1),
        ],
        Drawing("bars", [p for _, _, p in shown], most=1.0, widest=20),
        ("more column",),
        "table() has all",
    )
    contents: list[Content] = [table, GAP, Paragraph(f"{how(found)}.", "note")]
    if len(rows) > len(shown):
        more = f"{count_of(len(rows) - len(shown), 'more arrow')} of probability {least:g} or more"
        contents.append(Paragraph(more, "note"))
    return contents if shown else [Paragraph(f"no arrow has a probability of {least:g} or more")]


def described(found: EdgeConfidence) -> str:
    """The most probable arrows as text."""
    rows = found.ranked(LEAST_PROBABILITY)
    names = [f"{a} -> {b}" for a, b, _ in rows[:TABLE_LINES]]
    width = max(map(len, names), default=0)
    lines = [f"  {name:<{width}}  {p:.3f}" for name, (_, _, p) in zip(names, rows, strict=False)]
    more = [f"  ... and {len(rows) - TABLE_LINES} more"] if len(rows) > TABLE_LINES else []
    return "\n".join([how(found), *lines, *more])
