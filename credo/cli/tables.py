"""Beliefs as tables: one belief a parameter a row, many a group a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from credo.cli import screen as on
from credo.families.dirichlet import Dirichlet

if TYPE_CHECKING:
    from rich.console import Console

    from credo.estimation.belief import Belief
    from credo.estimation.beliefs import Beliefs


Cells = tuple[str, list[str]]  # of a column, after its header


class Groups(NamedTuple):
    """The groups to show, their estimates (of each also `_low` and `_high`), and how many groups there are more."""

    table: Any
    estimates: tuple[str, ...]
    more: int
    each: str = "more group"


def of_belief(belief: Belief, mass: float) -> Any:
    """An Arrow table: each parameter's estimates."""
    from credo.present.beliefs import rows_of

    mean, mode, interval = belief.mean(), belief.mode(), belief.interval(mass)
    likely = belief.maximum_likelihood() if belief.n else None
    if isinstance(mean, dict):
        names: Sequence[str] = [f"P({value})" for value in mean]
        mean, mode, interval, likely = (x and list(x.values()) for x in (mean, mode, interval, likely))
    elif hasattr(mean, "_fields"):
        names = mean._fields
    else:
        names = [rows_of(belief)[0][0]]
        mean, mode, interval, likely = [mean], [mode], [interval], [likely]
    return pa.table(
        {
            "parameter": list(names),
            "mean": list(mean),
            "mode": list(mode),
            "maximum_likelihood": pa.array(likely or [None] * len(names), pa.float64()),
            "low": [low for low, _ in interval],
            "high": [high for _, high in interval],
            "n": [belief.n] * len(names),
        }
    )


def print_belief(screen: Console, belief: Belief, found: Any, title: str, mass: float, top: int) -> None:
    columns = found.slice(0, top).to_pydict()
    mean, mode, likely, low, high = on.aligned(
        *(columns[name] for name in ("mean", "mode", "maximum_likelihood", "low", "high"))
    )
    on.say(screen, f"{title}: {on.counted(belief.n, 'observation')}", "bold")
    screen.print()
    screen.print(
        on.table(
            [
                (" ", [on.harmless(name) for name in columns["parameter"]]),
                ("mean", mean),
                ("mode", mode),
                ("max. likelihood", likely),
                (f"{on.percent(mass)} interval", on.intervals(low, high)),
            ]
        )
    )
    screen.print()
    on.say(screen, f"prior  {belief.prior}", "dim")
    if found.num_rows > top:
        on.say(screen, f"{on.counted(found.num_rows - top, 'more value')}: --top prints more, -o writes all")
    else:
        on.say(screen, f"belief {belief.posterior}", "dim")


def chosen(beliefs: Beliefs, table: Any, sort: str, top: int) -> Groups:
    """The first groups by their mean, their rows or their names."""
    names = table.column_names
    estimates = [name for name in names if f"{name}_low" in names and f"{name}_high" in names]
    if isinstance(beliefs.family, Dirichlet):  # common values first
        estimates = sorted(estimates, key=lambda name: -(pc.mean(table[name]).as_py() or 0))
    keys = {"mean": estimates[0], "rows": "rows", "name": beliefs.by}
    sortable = pa.table({"key": table[keys[sort]], "name": table[beliefs.by]})
    order = [("key", "ascending" if sort == "name" else "descending"), ("name", "ascending")]
    shown = table.take(pc.sort_indices(sortable, sort_keys=order).slice(0, top))
    each = "more group" if table.num_rows == len(beliefs) else "more pair"
    return Groups(shown, tuple(estimates), table.num_rows - shown.num_rows, each)


def print_beliefs(screen: Console, beliefs: Beliefs, groups: Groups, mass: float, writes: bool = True) -> None:
    """A line for each group; `writes` where the command has -o."""
    on.say(screen, f"{', '.join(beliefs.columns)} by {beliefs.by}: {on.counted(len(beliefs), 'group')}", "bold")
    screen.print()
    beyond = _print_groups(screen, beliefs.by, groups, mass)
    screen.print()
    if groups.more:
        how = "--top prints more, -o writes all" if writes else "--top prints more"
        on.say(screen, f"{on.counted(groups.more, groups.each)}: {how}")
    if beyond:
        on.say(screen, f"no room for {beyond}: {'-o writes all' if writes else 'a wider window shows more'}")
    on.say(screen, f"prior ({beliefs.rule}) {beliefs.prior}", "dim")
    if absent := _absent(beliefs):
        on.say(screen, f"left out {absent}", "dim")


def _print_groups(screen: Console, by: str, groups: Groups, mass: float) -> str:
    """The table, as far as the screen is wide; what had no place."""
    shown = groups.table.to_pydict()
    columns = [(on.harmless(by), [on.harmless(name) for name in shown[by]])]
    columns += [(name, [on.harmless(value) for value in shown[name]]) for name in ("value",) if name in shown]
    columns += [(name, [on.whole(value) for value in shown[name]]) for name in ("rows", "missing") if name in shown]
    columns, beyond = _with_estimates(screen, columns, shown, groups.estimates, mass)
    room = on.room(screen, columns)
    if len(groups.estimates) > 1 or room < on.NARROWEST:
        screen.print(on.table(columns))
        return beyond
    (name,) = groups.estimates
    lines = on.pictures(shown[name], shown[f"{name}_low"], shown[f"{name}_high"], min(room, on.WIDEST))
    screen.print(on.table([*columns, ("", lines)], left=(0, len(columns))))
    return beyond


def _with_estimates(
    screen: Console, columns: list[Cells], shown: Mapping[str, Any], estimates: Sequence[str], mass: float
) -> tuple[list[Cells], str]:
    """As many as fit, each with its interval where that fits too; and what doesn't."""
    bare = 0
    for done, name in enumerate(estimates):
        mean, low, high = on.aligned(shown[name], shown[f"{name}_low"], shown[f"{name}_high"])
        short = [*columns, (on.harmless(name), mean)]
        whole = [*short, (f"{on.percent(mass)} interval", on.intervals(low, high))]
        if not bare and on.room(screen, whole) >= 0:
            columns = whole
        elif not done or on.room(screen, short) >= 0:
            columns, bare = short, bare + 1
        else:
            return columns, on.counted(len(estimates) - done, "more value")
    return columns, on.counted(bare, "interval") if bare else ""


def _absent(beliefs: Beliefs) -> str:
    """The rows that no belief could learn from."""
    unknown = float((beliefs.rows - beliefs.statistics.weight).sum())
    reasons = {beliefs.by: beliefs.ungrouped, " or ".join(beliefs.columns): unknown}
    return ", ".join(f"{on.counted(rows, 'row')} without {name}" for name, rows in reasons.items() if rows)
