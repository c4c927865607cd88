"""A progress bar for work that takes longer than a second."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer

from credo.cli.streams import live
from credo.engines.local import progress
from credo.engines.remote import partition_progress

BAR_SECONDS = 1.0  # shorter work has no bar, which would only flicker


@contextmanager
def shown_progress(task: str) -> Iterator[None]:
    """Show a progress bar on stderr, if that is a terminal, while the block runs."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
    from rich.text import Text

    from credo._kernels.jit import watched

    class Rows(ProgressColumn):
        def render(self, task: Task) -> Text:
            if watched["compiling"]:
                return Text("compiling kernels, once")
            speed = f", {task.speed:,.0f} a second" if task.speed else ""
            where = task.fields.get("partitions", "")
            return Text(f"{where}{task.completed:,.0f} rows read{speed}" if task.completed or where else "")

    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(12), Rows(), TimeElapsedColumn(),
        console=console, transient=True, redirect_stdout=False, redirect_stderr=False,
    )  # fmt: skip
    rows = bar.add_task(task, total=None)

    def partition_done(done: int, count: int | None) -> None:
        of = "" if count is None else f" of {count}"
        bar.update(rows, partitions=f"partition {done}{of}, ")

    def begin() -> None:
        live.append(console)  # remarks are now printed above the bar
        bar.start()

    start = Timer(BAR_SECONDS, begin)
    start.daemon = True
    token = progress.set(lambda count: bar.advance(rows, count))
    watch = partition_progress.set(partition_done)
    start.start()
    watched["shown"] += 1
    try:
        yield
    finally:
        watched["shown"] -= 1
        progress.reset(token)
        partition_progress.reset(watch)
        start.cancel()
        start.join()
        bar.stop()
        live.clear()
