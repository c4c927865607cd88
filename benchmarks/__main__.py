"""`make bench`: every benchmark in one run, printed and written to benchmarks/RESULTS.md."""

from __future__ import annotations

import os
import platform
import sys
from importlib import import_module, metadata
from pathlib import Path

BENCHMARKS = ("beta_intervals", "group_by", "million_groups", "classifiers", "quality")
PEERS = ("credo-bayes", "numpy", "scipy", "numba", "pyarrow", "duckdb", "conjugate-models", "scikit-learn", "river")
HEAD = "| what | credo | peer | ratio | target | kept |\n| --- | --- | --- | --- | --- | --- |"


def main() -> None:
    chosen = sys.argv[1:] or BENCHMARKS
    lines = []
    print(HEAD)
    for name in chosen:
        for line in import_module(f"benchmarks.{name}").run():
            print(line, flush=True)
            lines.append(str(line))
    if not sys.argv[1:]:
        versions = ", ".join(f"{peer} {metadata.version(peer)}" for peer in PEERS)
        page = (
            "# Measured\n\n"
            "Both sides in one run, in turns, the best of three; a ratio above 1 means that credo is faster.\n"
            f"Python {platform.python_version()}, {os.cpu_count()} cores; {versions}.\n\n"
        )
        results = Path(__file__).with_name("RESULTS.md")
        results.write_text(page + "\n".join([HEAD, *lines]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
