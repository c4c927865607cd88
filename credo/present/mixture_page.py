"""A self-contained page about a mixture: its components, their distinguishing columns, and the numbers of components
tried."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from credo.present import figures, html
from credo.present.classifier_page import columns_by_class, decision_regions, footer, whole_page
from credo.present.content import Paragraph, Table
from credo.present.html import named
from credo.present.limits import DRAWN_CLASSES
from credo.present.mixtures import choices_table, components_table, traits_tables
from credo.present.numbers import whole
from credo.storage.files import FilePath, explained, write_whole

if TYPE_CHECKING:
    from credo.models.mixture.model import Mixture

PAGE_TRAITS = 6  # columns per component
LEAST_RISE = 1e-6  # relative rise of EM's objective; less is rounding


def mixture_page(mixture: Mixture, path: FilePath) -> None:
    """Write the page atomically."""
    text = mixture_page_of(mixture).encode(errors="replace")
    with explained("save to", path):
        write_whole(Path(path).expanduser().resolve(), [text])


def mixture_page_of(mixture: Mixture, saved: str = "") -> str:
    """The page's HTML: everything that comes from the data is escaped."""
    model = mixture.classifier
    shown = [*range(len(model.classes))][:DRAWN_CLASSES]
    parts = [_heading(mixture), html.table(components_table(mixture), "sortable")]
    parts += [_traits(mixture), _tried(mixture), _climb(mixture)]
    parts += [decision_regions(model, shown), columns_by_class(model, shown, noun="cluster"), footer(model, saved)]
    return whole_page(f"Clusters of {len(model.views)} columns", parts)


def _heading(mixture: Mixture) -> str:
    model = mixture.classifier
    columns = ", ".join(named(name) for name in [*model.views][:8]) + (", …" if len(model.views) > 8 else "")
    about = f"{whole(round(mixture.n, 1))} rows; columns {columns}. Covariance of numbers: {model.covariance}."
    return f"<h1>{len(mixture.names)} clusters</h1>\n<p>{about}</p>"


def _traits(mixture: Mixture) -> str:
    parts = ["<h2>What distinguishes the clusters</h2>"]
    for contents in traits_tables(mixture.describe(), PAGE_TRAITS):
        for content in contents:
            if isinstance(content, Paragraph):
                parts.append(f"<h3>{escape(content.text)}</h3>")
            elif isinstance(content, Table):
                parts.append(html.table(content, "sortable words"))
    about = "Nats: the mean weight of evidence of a cell for its cluster against the others."
    return "\n".join(parts) + f'\n<p class="faint">{about}</p>'


def _tried(mixture: Mixture) -> str:
    if not mixture.choices:
        return ""
    about = "log p(rows), parameters integrated out approximately (Cheeseman and Stutz)."
    table = html.table(choices_table(mixture), "sortable")
    return f'<h2>Numbers of clusters tried</h2>\n{table}\n<p class="faint">{about}</p>'


def _climb(mixture: Mixture) -> str:
    if len(mixture.history) < 2 or np.ptp(mixture.history) < LEAST_RISE * abs(mixture.history[-1]):
        return ""
    caption = "<figcaption>EM's objective by step: log-likelihood plus log prior. It never decreases.</figcaption>"
    return f'<h2>EM</h2>\n<figure class="narrow">{figures.climb_figure(mixture.history)}{caption}</figure>'
