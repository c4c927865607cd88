"""The probabilities of arrows, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo.present.numbers import count_of

if TYPE_CHECKING:
    from credo.networks.structure.confidence import EdgeConfidence

SHOWN = 20  # arrows in a printed table
LEAST_SHOWN = 0.01  # probability of an arrow that is shown
PRIORS = {"orders": "a uniform prior over orders", "dags": "a uniform prior over graphs"}


def how(found: EdgeConfidence) -> str:
    """How the probabilities were found, in a sentence."""
    if found.method == "bootstrap":
        return f"Frequency of each arrow in searches on {count_of(found.replicates, 'bootstrap sample')}"
    prior = PRIORS[found.prior]
    if found.convergence is None:
        paths = f"; paths from {count_of(found.paths_drawn, 'drawn graph')}" if found.paths_drawn else ""
        return f"Exact posterior probabilities, with {prior}{paths}"
    c = found.convergence
    agree = "have converged" if c.reached else "haven't converged"
    return (
        f"Posterior probabilities from {count_of(c.chains, 'chain')} over orders, with {prior}; the chains {agree} "
        f"(R-hat {c.r_hat:.3f}; arrows differ by up to {c.largest_difference:.2f})"
    )


def described(found: EdgeConfidence) -> str:
    """The most probable arrows as text."""
    rows = found.ranked(LEAST_SHOWN)
    names = [f"{a} -> {b}" for a, b, _ in rows[:SHOWN]]
    width = max(map(len, names), default=0)
    lines = [f"  {name:<{width}}  {p:.3f}" for name, (_, _, p) in zip(names, rows, strict=False)]
    more = [f"  ... and {len(rows) - SHOWN} more"] if len(rows) > SHOWN else []
    return "\n".join([how(found), *lines, *more])
