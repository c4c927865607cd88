"""credo structure: the arrows of a network, learned from a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import click

from credo.cli.options import read_as, top, weighted
from credo.cli.progress import shown_progress
from credo.cli.reading import opened_data, reads_data
from credo.cli.streams import remark

if TYPE_CHECKING:
    from credo.data import Source
    from credo.networks.hybrid.network import HybridNetwork
    from credo.networks.network import Network
    from credo.networks.structure.confidence import EdgeConfidence

SCORES = ("auto", "bdeu", "bds", "k2", "bic", "aic", "mdl", "qnml", "bge", "conditional-gaussian")
SEARCHES = ("auto", "boss", "hill-climbing", "tabu", "iterated", "exact", "ges", "pc", "k2", "chow-liu")


@click.command()
@click.argument("data")
@click.option("--score", type=click.Choice(SCORES), default="auto", show_default=True, help="Score to maximise.")
@click.option("--search", type=click.Choice(SEARCHES), default="auto", show_default=True, help="Search algorithm.")
@click.option("--required", multiple=True, metavar="ARROWS", help="Required arrows, as in 'A -> B'.")
@click.option("--forbidden", multiple=True, metavar="ARROWS", help="Forbidden arrows.")
@click.option(
    "--tiers", metavar="NAMES",
    help="Temporal tiers, as in 'age, sex; dose; outcome': no arrow leads back.",
)  # fmt: skip
@click.option("--max-parents", type=click.IntRange(min=0), metavar="N", help="Maximum number of parents.")
@click.option("--bins", type=click.IntRange(min=2), metavar="N", help="Number of bins for each number column.")
@weighted
@read_as("category, number, ignore")
@click.option("--confidence", is_flag=True, help="The posterior probability of each arrow, averaged over networks.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Random seed.")
@top(30, "arrows")
@click.option("--output", "-o", metavar="FILE", help="A file for the network: .bif .xdsl .net .json .credo and others.")
@click.option("--plot", metavar="FILE", help="A .png, .svg or .pdf file for a picture.")
@reads_data
def structure(data: str, top: int, output: str | None, plot: str | None, confidence: bool, **how: Any) -> None:
    """Learn the arrows and tables of a belief network from a table.

    DATA is a file (.csv .tsv .jsonl .parquet .arrow, also .csv.gz), a pattern such as 'logs/*.csv', or - (standard
    input). Its columns are the variables. Arrows are chosen by a score, which trades fit against the number of
    parameters.

    \b
    Examples:
      credo structure survey.csv -o survey.bif --plot survey.svg
      credo structure survey.csv --tiers 'age, sex; job; income'
      credo structure survey.csv --required 'job -> income' --max-parents 3
      credo structure sensors.csv --bins 4 --search exact
      credo structure survey.csv --confidence --plot sure.svg
    """
    from credo.cli.arguments import check_no_model
    from credo.present.structures import structure_content
    from credo.present.terminal import show

    check_no_model("structure", data)
    _check_outputs(data, output, plot)
    how["required"], how["forbidden"] = "\n".join(how["required"]), "\n".join(how["forbidden"])
    how["tiers"] = parsed_tiers(how["tiers"])
    with shown_progress("searching"):
        table = opened_data(data).held()
        net, strengths, sure, compelled, title = learned(table, data, confidence, **how)
        if output:  # before printing, which a closed pipe may interrupt
            _write(net, output)
        if plot:
            from credo.present.plotting import save_figure

            save_figure(sure.plot() if sure is not None else net.plot(), plot)
    show(structure_content(net, title, strengths, sure, compelled, top))
    for path in filter(None, (output, plot)):
        remark(f"wrote {path}")


def learned(table: Source, data: str, confidence: bool, **how: Any) -> LearnedStructure:
    """The network, the strength of its arrows, and their probabilities."""
    import credo
    from credo.networks.equivalence import numbered
    from credo.networks.structure.default_search import chosen_search
    from credo.networks.structure.edge_confidence import completed_task
    from credo.networks.structure.essential_graph import essential_graph
    from credo.networks.structure.learn import task_of
    from credo.networks.structure.strengths import arrow_strengths
    from credo.present.numbers import count_of

    score, search = how.pop("score"), how.pop("search")
    net = credo.learn_structure(table, score, search, **how)
    sure = credo.edge_confidence(table, score=score, **how) if confidence else None
    reading = {name: how[name] for name in ("bins", "kinds", "weight")}
    constraints = {name: how[name] for name in ("required", "forbidden", "tiers", "max_parents")}
    task = completed_task(task_of(table, score, constraints=constraints, **reading))
    strengths = arrow_strengths(task.scored(task.columns), net.parents)
    compelled = essential_graph(numbered(net.parents), task.constraints).named(net.variables).arrows
    arrows = sum(map(len, net.parents.values()))
    size = f"{count_of(len(net.parents), 'variable')} and {count_of(arrows, 'arrow')}"
    search = chosen_search(search, len(net.parents))
    how_found = "tests of independence" if search == "pc" else f"score {task.score}, search {search}"
    return LearnedStructure(net, strengths, sure, compelled, f"{data}: network of {size} ({how_found})")


class LearnedStructure(NamedTuple):
    net: Network | HybridNetwork
    strengths: dict[tuple[str, str], float]
    sure: EdgeConfidence | None
    compelled: frozenset[tuple[str, str]]
    title: str


def parsed_tiers(given: str | None) -> list[list[str]] | None:
    """Tiers from text: names separated by commas, tiers by semicolons.

    >>> parsed_tiers("age, sex; income")
    [['age', 'sex'], ['income']]
    """
    if given is None:
        return None
    return [[name.strip() for name in tier.split(",") if name.strip()] for tier in given.split(";")]


def _check_outputs(data: str, output: str | None, plot: str | None) -> None:
    from credo.cli.output import MODEL, PICTURE_ENDINGS, check, check_apart
    from credo.formats import FORMATS
    from credo.formats.files import PACKED

    if output:
        packed = output.lower().endswith(PACKED)
        check(output[: -len(PACKED)] if packed else output, tuple(FORMATS) if packed else (*FORMATS, MODEL))
        check_apart(output, data)
    if plot:
        check(plot, PICTURE_ENDINGS)


def _write(net: Network | HybridNetwork, output: str) -> None:
    from credo.cli.output import MODEL
    from credo.errors import NetworkError
    from credo.formats import write
    from credo.formats.files import PACKED
    from credo.networks.hybrid.network import HybridNetwork
    from credo.storage.files import save

    if output.lower().endswith(MODEL):
        save(net, output)
    elif isinstance(net, HybridNetwork) and (net.states or not output.lower().removesuffix(PACKED).endswith(".json")):
        raise NetworkError(
            f"can't write {output}: a network with numbers has no tables of them; cut numbers into bins with --bins 5, "
            f"or write a {MODEL} file (.json holds numbers alone)"
        )
    else:
        write(net, output)
