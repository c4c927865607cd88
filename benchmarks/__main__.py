"""`make bench`: every benchmark, printed and written to benchmarks/RESULTS.md, a section each."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Sequence
from importlib import import_module, metadata
from pathlib import Path

BENCHMARKS = (
    "first_use", "beta_intervals", "group_by", "million_groups", "classifiers", "learning_time", "quality", "trust",
    "text", "text_quality", "networks", "network_learning", "structure", "structure_scale", "arrow_confidence",
    "linear_gaussian", "soft_membership", "em_iteration", "mixtures", "hidden_markov", "nodes", "templates",
    "regression", "logistic", "trees", "hypotheses", "explorer", "scale", "spark",
)  # fmt: skip
PEERS = (
    "credo-bayes", "numpy", "scipy", "numba", "pyarrow", "duckdb", "conjugate-models", "scikit-learn", "river",
    "vowpalwabbit", "fasttext-wheel", "pyagrum", "pgmpy", "hmmlearn", "stepmix",
)  # fmt: skip
RESULTS = Path(__file__).with_name("RESULTS.md")
TITLE = """# Measured

Both sides of a line in one run, in turns, the best of a few; a ratio above 1 means that credo is faster. Each section
is one run of its benchmark, unless it says otherwise.
"""
HEAD = "| what | credo | peer | ratio | target | kept |\n| --- | --- | --- | --- | --- | --- |"


def main() -> None:
    """All benchmarks, or those named; each writes its own section again."""
    print(HEAD)
    for name in sys.argv[1:] or BENCHMARKS:
        lines = []
        for line in import_module(f"benchmarks.{name}").run():
            print(line, flush=True)
            lines.append(str(line))
        write_section(name, lines)


def write_section(name: str, lines: Sequence[str]) -> None:
    """RESULTS.md, with that section replaced."""
    versions = ", ".join(f"{peer} {metadata.version(peer)}" for peer in PEERS)
    where = f"Python {platform.python_version()}, {os.cpu_count()} cores; {versions}."
    old = RESULTS.read_text(encoding="utf-8") if RESULTS.is_file() else ""
    sections = dict(re.findall(r"^## (\w+)\n\n(.*?)(?=\n## |\Z)", old, re.M | re.S))
    sections[name] = "\n".join([where, "", HEAD, *lines]) + "\n"
    shown = (f"## {each}\n\n{sections[each]}" for each in BENCHMARKS if each in sections)
    RESULTS.write_text(f"{TITLE}\n" + "\n".join(shown), encoding="utf-8")


if __name__ == "__main__":
    main()
