"""credo convert: a network from one file format to another."""

from __future__ import annotations

import click

from credo.cli.streams import echo


@click.command()
@click.argument("file")
@click.argument("output")
def convert(file: str, output: str) -> None:
    """Convert a network from one file format to another.

    The extensions give the formats: .bif, .xmlbif (.bifxml, .xml), .xdsl, .dsl, .net (.hugin), .uai, .json, each also
    with .gz, and .credo. The new file is written atomically.

    \b
    Examples:
      credo convert alarm.bif alarm.xdsl
      credo convert alarm.bif.gz alarm.credo
    """
    from credo.cli.output import MODEL, check, check_apart
    from credo.cli.saved import loaded_network
    from credo.formats import FORMATS, write
    from credo.formats.files import PACKED
    from credo.present.numbers import count_of
    from credo.storage.files import save

    packed = output.lower().endswith(PACKED)
    check(output[: -len(PACKED)] if packed else output, tuple(FORMATS) if packed else (*FORMATS, MODEL))
    check_apart(output, file)
    net = loaded_network(file)
    if output.lower().endswith(MODEL):
        save(net, output)
    else:
        write(net, output)
    echo(f"wrote {output}: a network of {count_of(len(net.variables), 'variable')}")
