"""Screens: the data for the page when it opens, and answers to its requests.

A screen keeps no state between requests. The user's choices are in the page's address, so that a second tab, a reload
or a new server shows the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, ClassVar, Protocol, TypedDict

from credo.errors import DataError, suggest
from credo.notices import quietly
from credo.present.models import short_title

Asked = Mapping[str, Any]
Answer = dict[str, Any]
Action = Callable[[Asked], Answer]

SLIDER_POINTS = 41  # of a curve over a number
ROW_SCREEN, TRUST_SCREEN = "credo.explorer.screens.row.RowScreen", "credo.explorer.screens.trust.TrustScreen"
SCREENS_OF_KIND: dict[str, tuple[str, ...]] = {
    "credo.networks.graphical_model.GraphicalModel": ("credo.explorer.screens.network.NetworkScreen",),
    "credo.networks.hybrid.network.HybridNetwork": ("credo.explorer.screens.hybrid.HybridScreen",),
    "credo.networks.templates.dynamic_network.DynamicNetwork": ("credo.explorer.screens.slices.SlicesScreen",),
    "credo.networks.templates.plate_network.PlateNetwork": ("credo.explorer.screens.network.plates_screen",),
    "credo.networks.decisions.influence_diagram.InfluenceDiagram": (
        "credo.explorer.screens.decisions.DecisionsScreen",
    ),
    "credo.models.class_predictor.ClassPredictor": (ROW_SCREEN, TRUST_SCREEN),
    "credo.models.regression.linear.LinearRegression": ("credo.explorer.screens.regression.RegressionScreen",),
    "credo.models.mixture.model.Mixture": ("credo.explorer.screens.clusters.ClustersScreen",),
    "credo.models.hidden_markov.model.HiddenMarkov": ("credo.explorer.screens.sequence.SequenceScreen",),
    "credo.estimation.belief.Belief": ("credo.explorer.screens.belief.BeliefScreen",),
    "credo.estimation.beliefs.Beliefs": ("credo.explorer.screens.groups.GroupsScreen",),
    "credo.data.sources.Source": ("credo.explorer.screens.table.TableScreen",),
}


class Lines(TypedDict):
    """Code for the same in Python and on the command line."""

    python: str
    cli: str


class Screen(Protocol):
    """One kind of model on the page."""

    kind: ClassVar[str]  # the part of the page that shows it
    title: ClassVar[str]

    def opened(self) -> Answer:
        """The data for the page when it opens."""

    @property
    def actions(self) -> Mapping[str, Action]:
        """The requests that the screen answers, by name."""


class Subject:
    """A model, its file, and rows to show, if any."""

    def __init__(self, model: Any, path: str | None = None, data: object = None) -> None:
        self.model, self.path, self.data = model, path, data

    @property
    def title(self) -> str:
        """The file's name or, without a file, a short description: "NaiveBayes of play"."""
        if self.path:
            return self.path.replace("\\", "/").rpartition("/")[2]
        return short_title(self.model)


def screens_of(subject: Subject) -> dict[str, Screen]:
    """The screens of a model, by kind."""
    for each in type(subject.model).__mro__:
        if paths := SCREENS_OF_KIND.get(f"{each.__module__}.{each.__qualname__}"):
            found: list[Screen] = [_imported(path)(subject) for path in paths]
            return {screen.kind: screen for screen in found}
    raise DataError(
        "the explorer shows networks, influence diagrams, classifiers, regressions, mixtures, hidden Markov models, "
        f"beliefs and tables, but this is a {type(subject.model).__name__}"
    )


def _imported(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def answered(screen: Screen, action: str, asked: object) -> Answer:
    """The answer to a request; an error says what was wrong with it."""
    if not isinstance(asked, Mapping):
        raise DataError(f"a request is a JSON object, but this is {type(asked).__name__}")
    found = screen.actions.get(action)
    if found is None:
        raise DataError(f"there is no action {action!r}; {suggest(action, [*screen.actions])}")
    with quietly():  # answers contain their own notices
        return found(asked)


def shown(screen: Screen) -> Answer:
    """The data for the page when it opens, without notices."""
    with quietly():
        return screen.opened()


def mapping_in(asked: Asked, name: str) -> dict[str, Any]:
    """An object of a request; empty if absent."""
    found = asked.get(name)
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise DataError(f"{name!r} must be an object, but is {found!r:.60}")
    return dict(found)


def text_in(asked: Asked, name: str) -> str:
    """A text of a request."""
    found = asked.get(name)
    if not isinstance(found, str):
        raise DataError(f"{name!r} must be a text, but is {found!r:.60}")
    return found


def number_in(asked: Asked, name: str, default: float) -> float:
    """A finite number of a request."""
    found = asked.get(name, default)
    if isinstance(found, bool) or not isinstance(found, int | float) or not abs(found) < float("inf"):
        raise DataError(f"{name!r} must be a number, but is {found!r:.60}")
    return found
