"""credo demo: a tour in a minute."""

from __future__ import annotations

import click


@click.command()
def demo() -> None:
    """A one-minute tour on data that ships with credo.

    \b
    Example:
      credo demo
    """
    import pyarrow.csv

    from credo.cli.progress import shown_progress
    from credo.notices import quietly
    from credo.present import demo as tour
    from credo.present.content import GAP, Paragraph
    from credo.present.terminal import Terminal, show
    from credo.selection.learn import learn

    screen = Terminal()

    def show_step(step: tour.Step) -> None:
        title, contents = step
        show([GAP, Paragraph(title, "step")], screen)
        show(contents, screen, tour.TOUR_INDENT)

    show([tour.welcome()], screen)
    pumps = pyarrow.csv.read_csv(tour.PUMPS, convert_options=pyarrow.csv.ConvertOptions(strings_can_be_null=True))
    show_step(tour.table(pumps))
    with quietly():  # the tables show it, too
        with shown_progress("learning"):
            model = learn(pumps, tour.DEMO_TARGET)
        for step in tour.steps(model, pumps):
            show_step(step)
