"""Networks of categories and numbers: arrows, nodes, marginals, and the densities of numbers."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import counted
from credo.networks.hybrid.number_node import LogisticNode, NumberNode
from credo.numerics.exact import Array
from credo.present.content import GAP, TOP_HINT, Content, Paragraph, Table, TableColumn
from credo.present.layout import layout
from credo.present.limits import LIST_CHARACTERS, LISTING_LINES, REPR_CHARACTERS
from credo.present.network_plot import MARGINAL_VARIABLES, Arrow, Card, NetworkPicture, drawn_picture
from credo.present.networks import SMALL_NETWORK, SMALL_TABLE_ROWS, arrow_lines
from credo.present.numbers import count_of, listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from credo.networks.hybrid.answers import NumberAnswer
    from credo.networks.hybrid.network import HybridNetwork
    from credo.networks.inference.findings import Given

NUMBER_POINTS = 400  # of a density
MARGINAL_RANGES = 5  # bars of a number's marginal in a picture


def headline(net: HybridNetwork) -> str:
    arrows = sum(map(len, net.parents.values()))
    kinds = ""
    if net.nodes:
        kinds = f", {counted(len(net.numbers), 'number')} among them"
    return f"HybridNetwork of {counted(len(net.parents), 'variable')}{kinds}, and {counted(arrows, 'arrow')}"


def described(net: HybridNetwork) -> str:
    """Arrows, and the nodes of a small network.

    >>> from credo import HybridNetwork, nodes
    >>> print(HybridNetwork("Flu -> Fever", {"Flu": 0.1, "Fever": nodes.Normal({"yes": 39, "no": 36.8}, sd=0.5)}))
    HybridNetwork of 2 variables, 1 number among them, and 1 arrow
      Flu
      Flu -> Fever
    <BLANKLINE>
    P(Flu)
      yes 0.1, no 0.9
    <BLANKLINE>
    p(Fever | Flu)
      yes: N(39, 0.5²)
      no: N(36.8, 0.5²)
    """
    lines = [*arrow_lines(headline(net), net.parents), *_nodes(net)]
    return "\n".join(line if len(line) <= REPR_CHARACTERS else f"{line[: REPR_CHARACTERS - 1]}…" for line in lines)


def _nodes(net: HybridNetwork) -> list[str]:
    if not net.nodes:
        return ["", "without nodes"]
    names = [*net.parents] if len(net.parents) <= SMALL_NETWORK else []
    return [line for name in names for line in ("", *node_lines(net, name))]


def node_lines(net: HybridNetwork, name: str) -> list[str]:
    """A variable's distribution given its parents, a line for each configuration of its category parents."""
    above, node = net.parents[name], net.nodes[name]
    letter = "p" if name in net.numbers else "P"
    title = f"{letter}({name}{' | ' + ', '.join(above) if above else ''})"
    categories = net.category_parents(name)
    lines = [title]
    for where in [*product(*(range(len(net.states[each])) for each in categories))][:SMALL_TABLE_ROWS]:
        causes = ", ".join(str(net.states[each][k]) for each, k in zip(categories, where, strict=True))
        lines.append(f"  {causes + ': ' if causes else ''}{_shares_text(net, name, node, where)}")
    return lines


def _shares_text(net: HybridNetwork, name: str, node: Any, where: tuple[int, ...]) -> str:
    if isinstance(node, NumberNode):
        terms = _terms(float(node.intercept[where]), node.numbers, node.weights[where])
        return f"N({terms}, {np.sqrt(node.variance[where]):.6g}²)"
    if isinstance(node, LogisticNode):
        parts = [
            f"{state}: {_terms(float(node.intercept[where][k]), node.numbers, node.weights[where][k])}"
            for k, state in enumerate(net.states[name])
        ]
        return f"softmax({'; '.join(parts)})"
    return ", ".join(f"{state} {p:.6g}" for state, p in zip(net.states[name], node[where].tolist(), strict=True))


def _terms(intercept: float, names: tuple[str, ...], weights: Any) -> str:
    rest = (f" {'-' if w < 0 else '+'} {abs(w):.6g} {name}" for name, w in zip(names, weights.tolist(), strict=True))
    return f"{intercept:.6g}{''.join(rest)}"


def learned_from(net: HybridNetwork) -> list[str]:
    if net.evidence is None:
        return []
    lines = [f"learned from {count_of(net.n, 'row')}"]
    if net.history:
        steps = count_of(len(net.history) - 1, "step")
        rose = f"{net.history[0]:.6g} to {net.history[-1]:.6g}"
        lines.append(f"fitted by EM where cells are missing: {steps}, log-posterior {rose}")
    return lines


def hybrid_content(net: HybridNetwork, top: int | None = None) -> list[Content]:
    """Each variable's kind and parents; the nodes of a small network."""
    top = top or LISTING_LINES
    if len(net.parents) <= SMALL_NETWORK:
        learned = [GAP, Paragraph("\n".join(learned_from(net)), "note")] if net.evidence is not None else []
        return [
            Paragraph("\n".join(arrow_lines(headline(net), net.parents))),
            *learned,
            Paragraph("\n".join(_nodes(net)), "lines"),
        ]
    names = [*net.parents][:top]
    kinds = [listed(net.states[name], len(net.states[name])) if name in net.states else "number" for name in names]
    table = Table(
        [
            TableColumn("variable", names),
            TableColumn("states", kinds, longest=LIST_CHARACTERS, wraps=True),
            TableColumn(
                "parents", [", ".join(net.parents[name]) for name in names], longest=LIST_CHARACTERS, wraps=True
            ),
        ]
    )
    rest = [GAP, Paragraph(count_of(len(net.parents) - top, "more variable"), hint=TOP_HINT)]
    lines = [Paragraph(line, "note") for line in learned_from(net)]
    return [Paragraph(headline(net), "title"), *lines, GAP, table, *(rest if len(net.parents) > top else [])]


def plot_hybrid(net: HybridNetwork, given: Given = None, ax: Any = None) -> Figure:
    """Layers from top to bottom, each variable with a bar for each state or range of numbers."""
    marginals = net.marginals(given) if net.nodes and len(net.parents) <= MARGINAL_VARIABLES else {}
    places, bends = layout(net.parents)
    cards = []
    for name, place in places.items():
        found = marginals.get(name, {})
        bars = found if isinstance(found, dict) else _ranges(found)
        cards.append(Card(name, bars, name in (given or {}), place))
    return drawn_picture(NetworkPicture(cards, [Arrow(*ends, way) for ends, way in bends.items()]), ax)


def _ranges(found: NumberAnswer) -> dict[str, float]:
    """The probabilities of a few ranges that cover 99.8% of the distribution."""
    low, high = (float(end) for end in found.interval(0.998))
    if low == high:
        return {f"{low:.4g}": 1.0}
    cuts = round_cuts(low, high, MARGINAL_RANGES)
    below = np.asarray(found.cdf(cuts))
    below[0], below[-1] = 0.0, 1.0
    return {f"{a:.6g} – {b:.6g}": float(p) for a, b, p in zip(cuts, cuts[1:], np.diff(below), strict=False)}


def round_cuts(low: float, high: float, most: int) -> Array:
    """Round cut points between at most that many ranges of equal width: their names are short.

    >>> round_cuts(35.27, 40.16, 5).tolist(), round_cuts(-3.1, 3.08, 5).tolist()
    ([34.0, 36.0, 38.0, 40.0, 42.0], [-4.0, -2.0, 0.0, 2.0, 4.0])
    """
    least = (high - low) / (most - 1)
    unit = 10.0 ** np.floor(np.log10(least))
    step = unit * next(each for each in (1.0, 2.0, 2.5, 5.0, 10.0) if each * unit >= least * (1 - 1e-9))
    found: Array = np.round(step * np.arange(np.floor(low / step), np.ceil(high / step) + 1), 12) + 0.0
    return found


def plot_number(found: NumberAnswer, ax: Axes | None = None) -> Figure:
    """The density over a central 99.8% interval."""
    from credo.present.plotting import Figure

    drawn: Any = Figure(figsize=(4.5, 2.6), layout="constrained").subplots() if ax is None else ax
    low, high = (float(end) for end in found.interval(0.998))
    if low == high:
        drawn.axvline(low, color="#4477aa")
    else:
        grid = np.linspace(low, high, NUMBER_POINTS)
        density = np.exp(found.log_prob(grid))
        drawn.plot(grid, density, color="#4477aa", lw=1.6)
        drawn.fill_between(grid, density, color="#4477aa", alpha=0.15, lw=0)
    drawn.set(yticks=[], ylim=(0, None), ylabel="density")
    figure: Figure = drawn.figure
    return figure
