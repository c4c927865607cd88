"""Makes pumps.csv: 600 pumps that don't exist, what their sensors might say, and what is wrong with them.

python -m credo.samples.make_pumps > credo/samples/pumps.csv
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from math import exp
from random import Random

ROWS, SEED = 600, 7
FAULTS = {"none": 0.64, "bearing": 0.19, "clogged": 0.17}
HEADER = ("pump", "site", "maker", "fluid", "hours", "load", "temperature", "vibration", "pressure", "flow", "fault")
MISSING = {"maker": 0.04, "vibration": 0.11, "flow": 0.06, "fault": 0.02}


def rows() -> Iterator[dict[str, object]]:
    draw = Random(SEED)
    for i in range(ROWS):
        row = _pump(draw, i)
        yield {name: "" if draw.random() < MISSING.get(name, 0) else value for name, value in row.items()}


def _pump(draw: Random, i: int) -> dict[str, object]:
    (fault,) = draw.choices(list(FAULTS), list(FAULTS.values()))
    bearing, clogged = fault == "bearing", fault == "clogged"
    fluid = draw.choices(["water", "brine", "slurry"], [2, 3, 5] if clogged else [6, 3, 2])[0]
    load = draw.gauss(*draw.choice([(35, 6), (82, 5)])) if not clogged else draw.gauss(60, 9)
    heat = draw.gauss(0, 1)  # what vibration and temperature share
    return {
        "pump": f"P{7 * i + 1001}",
        "site": draw.choices(["harbour", "north", "south"], [3, 4, 5])[0],
        "maker": draw.choices(["Alder", "Birch", "Cedar"], [1, 4, 2] if bearing else [3, 3, 3])[0],
        "fluid": fluid,
        "hours": round(exp(draw.gauss(7.5 if bearing else 6.6, 0.8))),
        "load": round(min(load, 100), 1),
        "temperature": round(55 + 6 * bearing + 3 * heat + draw.gauss(0, 4), 1),
        "vibration": round(exp(0.4 + 0.55 * bearing + 0.15 * heat + draw.gauss(0, 0.35)), 2),
        "pressure": round(draw.gauss(6.9 if clogged else 6.0, 0.8), 2),
        "flow": round(draw.gauss(34 if clogged else 40, 5), 1),
        "fault": fault,
    }


if __name__ == "__main__":
    writer = csv.DictWriter(sys.stdout, HEADER, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows())
