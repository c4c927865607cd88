"""credo learn --network: its options, and the learning of a network's tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from credo.cli.options import Command, with_options

if TYPE_CHECKING:
    from credo.networks.network import Network
    from credo.networks.table_priors import BDeu

FITTING_METHODS = ("em", "gradient", "lbfgs")
BDEU_PREFIX = "bdeu:"


def parse_table_prior(ctx: click.Context, param: click.Parameter, value: str | None) -> float | str | BDeu | None:
    """A concentration, ml, or bdeu:N."""
    if value is None or value == "ml":
        return value
    number = value.removeprefix(BDEU_PREFIX)
    try:
        size = float(number)
    except ValueError:
        message = f"{value!r} is neither a concentration (as in 1), nor ml, nor an equivalent sample size (bdeu:10)"
        raise click.BadParameter(message, ctx, param) from None
    if not value.startswith(BDEU_PREFIX):
        return size
    import credo

    return credo.BDeu(size)


def parse_hidden(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, Any]:
    """Hidden variables, each as variable=2 or variable=yes,no."""
    found: dict[str, Any] = {}
    for value in values:
        name, _, states = value.rpartition("=")
        if not name or not states:
            raise click.BadParameter(f"{value!r} isn't a variable and its states, as in Campfire=2", ctx, param)
        found[name] = int(states) if states.isdigit() else states.split(",")
    return found


def learns_tables(command: Command) -> Command:
    """The options of a network."""
    options = [
        click.option(
            "--network", metavar="FILE|ARROWS",
            help="Learn the tables of this network: a file (.bif .xdsl ... .credo), or arrows such as 'A, B -> C'.",
        ),
        click.option(
            "--table-prior", metavar="L|ml|bdeu:N", callback=parse_table_prior,
            help="The Dirichlet prior of the tables.  [default: 1]",
        ),
        click.option(
            "--strength", metavar="CASES", type=float,
            help="Instead of a prior: the equivalent sample size of the network's own tables.",
        ),
        click.option(
            "--hidden", multiple=True, metavar="NAME=STATES", callback=parse_hidden,
            help="A hidden variable, and the number or names of its states.",
        ),
        click.option(
            "--method", type=click.Choice(FITTING_METHODS), default="em", show_default=True,
            help="Fitting method if cells are missing.",
        ),
        click.option(
            "--starts", metavar="N", type=click.IntRange(min=1), default=10, show_default=True,
            help="Random starts if variables are hidden.",
        ),
    ]  # fmt: skip
    return with_options(command, options)


def opened_network(given: str) -> Network:
    """The network from a file or from arrows."""
    from credo.cli.saved import loaded_network
    from credo.formats import is_network
    from credo.networks.network import Network

    if not given.lower().endswith(".credo") and not is_network(given) and any(sign in given for sign in "<>→←["):
        return Network(given)
    net = loaded_network(given)
    if not isinstance(net, Network):
        raise click.UsageError(f"--network {given}: a network without arrows has no tables to learn")
    return net


def learn_tables(data: str, network: str | None, weight: str | None, output: str | None, **how: Any) -> None:
    """Fit, write and show."""
    from credo.cli.output import MODEL, check
    from credo.cli.progress import shown_progress
    from credo.cli.reading import opened_data
    from credo.cli.streams import remark
    from credo.formats import FORMATS
    from credo.present.networks import network_content
    from credo.present.terminal import show
    from credo.storage.files import save

    if network is None:
        raise click.UsageError("--model network needs --network: a file, or arrows such as 'Storm -> Fire'")
    if output:
        check(output, (MODEL, *FORMATS))
    with shown_progress("learning"):
        net = opened_network(network)
        fitted = net.fit(opened_data(data), weight=weight, prior=how.pop("table_prior"), **how)
        if output and output.lower().endswith(MODEL):
            save(fitted, output)
        elif output:
            fitted.write(output)
    show(network_content(fitted))
    if output:
        remark(f"wrote {output}")
