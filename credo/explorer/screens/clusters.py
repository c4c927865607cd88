"""Clusters: their distinguishing columns, ellipses over two columns, and a row's responsibilities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from credo.asking.protocol import waterfall
from credo.errors import DataError
from credo.explorer.screens.screen import Action, Answer, Asked, Subject, mapping_in, text_in
from credo.explorer.screens.snippets import called
from credo.models.mixture.model import Mixture
from credo.present.content import plain
from credo.present.mixture_plot import ELLIPSE_DEVIATIONS, ellipse, gaussian_of, points_of

SCREEN_TRAITS = 12  # columns per cluster


class ClustersScreen:
    """Profiles, ellipses and responsibilities of a mixture."""

    kind: ClassVar[str] = "clusters"
    title: ClassVar[str] = "Clusters"

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.mixture: Mixture = subject.model

    def opened(self) -> Answer:
        from credo.asking import variables

        columns = [plain(each) for each in variables(self.mixture) if each["role"] == "column"]
        components = [
            {
                "name": str(each.name),
                "share": each.share,
                "traits": [plain(trait) for trait in each.traits[:SCREEN_TRAITS]],
            }
            for each in self.mixture.describe().components
        ]
        posterior = self.mixture.component_posterior if self.mixture.choices else {}
        return {
            "components": components,
            "columns": columns,
            "numbers": [name for name, forms in self.mixture.classifier.views.items() if forms[0] == "gaussian"],
            "rows": float(self.mixture.n),
            "has_rows": self.subject.data is not None,
            "posterior": {str(k): float(p) for k, p in posterior.items()},
        }

    @property
    def actions(self) -> Mapping[str, Action]:
        return {"ellipses": self.ellipses, "responsibilities": self.responsibilities}

    def ellipses(self, asked: Asked) -> Answer:
        """Ellipses of each component at one and two standard deviations; and rows, if any."""
        names = [text_in(asked, "x"), text_in(asked, "y")]
        numbers = [name for name, forms in self.mixture.classifier.views.items() if forms[0] == "gaussian"]
        for unknown in (name for name in names if name not in numbers):
            raise DataError(f"there is no number column {unknown!r:.60}")
        found = []
        for k, name in enumerate(self.mixture.names):
            mean, root = gaussian_of(self.mixture, k, names)
            edges = [ellipse(mean, root, scale).tolist() for scale in ELLIPSE_DEVIATIONS]
            found.append({"name": str(name), "mean": mean.tolist(), "edges": edges})
        points: list[Any] = []
        codes: list[int] = []
        if self.subject.data is not None:
            some, which = points_of(self.mixture, self.subject.data, names)
            points, codes = some.tolist(), which.tolist()
        return {"ellipses": found, "points": plain(points), "codes": codes}

    def responsibilities(self, asked: Asked) -> Answer:
        """P(component | row), and why."""
        views = self.mixture.classifier.views
        row = {name: value for name, value in mapping_in(asked, "row").items() if name in views and value != ""}
        filled = {name: row.get(name) for name in views}
        shares = self.mixture.responsibilities([filled])[0]
        why = plain(waterfall(self.mixture.explain(filled))) if len(self.mixture.names) > 1 else None
        own, file = called(self.subject)
        return {
            "shares": [*map(float, shares)],
            "log_prob": float(self.mixture.log_prob([filled])[0]),
            "why": why,
            "copy": {"python": f"{own}.responsibilities([{row!r}])", "cli": f"credo predict {file} rows.csv"},
        }
