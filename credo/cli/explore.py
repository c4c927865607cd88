"""credo explore: a local web page about a model or a table."""

from __future__ import annotations

import click


@click.command()
@click.argument("file")
@click.option("--target", "-t", metavar="COL", help="For a table: first learn to predict this column.")
@click.option("--data", metavar="DATA", help="Rows to show, as a table: mistakes, clusters, sequences.")
@click.option(
    "--port", metavar="N", type=click.IntRange(0, 65535), default=0, help="Port to listen on.  [default: a free port]"
)
@click.option("--no-browser", is_flag=True, help="Print the address and open no browser.")
def explore(file: str, target: str | None, data: str | None, port: int, no_browser: bool) -> None:
    """Open a page about a model, a network or a table in the browser.

    A network shows a bar for each state: click one to enter evidence, and all others move. An influence diagram shows
    the best policy. A classifier shows a row or a message, its class, the explanation, and calibration. The page is
    served to this machine only, under a secret address, and loads nothing from elsewhere. Ctrl-C stops it.

    \b
    Examples:
      credo explore alarm.bif
      credo explore m.credo --data rows.csv
      credo explore pumps.csv --target fault
      credo explore m.credo --port 8000 --no-browser
    """
    import webbrowser

    from credo.cli.progress import shown_progress
    from credo.cli.streams import echo, remark
    from credo.explorer.opening import opened_file
    from credo.explorer.serving import Explorer

    with shown_progress("reading"):
        subject = opened_file(file, data, target)
    with Explorer(subject, port, framed=False) as page:
        echo(page.url)
        remark("Ctrl-C ends it")
        if not no_browser:
            webbrowser.open(page.url)
        page.wait()
