"""Mixtures: the distinguishing columns of the components, and the numbers of components tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo.present.content import GAP, Content, Drawing, Paragraph, Table, TableColumn
from credo.present.numbers import count_of, counts_form, one_line

if TYPE_CHECKING:
    from credo.models.mixture.describing import Description
    from credo.models.mixture.model import Mixture

TRAIT_LINES = 4  # columns per component
LISTED_COMPONENTS, LISTED_CHOICES = 30, 8  # in a table
TRAIT_CHARACTERS = 60  # of a trait


def mixture_content(mixture: Mixture, top: int | None = None) -> list[Content]:
    """The contents of a fitted mixture."""
    if mixture.fitted is None:
        return [Paragraph(repr(mixture))]
    size = count_of(len(mixture.names), "component")
    title = f"{size} of {count_of(mixture.n, 'row')} and {count_of(len(mixture.columns), 'column')}"
    contents: list[Content] = [Paragraph(title, "title"), components_table(mixture), GAP]
    contents += description_content(mixture.describe(), top)
    if len(mixture.choices) > 1:  # one was given: nothing was chosen, and its probability of 1 would mislead
        contents += [Paragraph("Numbers of components tried, by approximate evidence", "title"), choices_table(mixture)]
    return contents


def components_table(mixture: Mixture) -> Table:
    """The components, and their shares."""
    names, shares = mixture.names[:LISTED_COMPONENTS], [*mixture.shares.values()][:LISTED_COMPONENTS]
    weights = mixture.classifier.class_weights[:LISTED_COMPONENTS]
    return Table(
        [
            TableColumn(one_line(mixture.classifier.target), [str(name) for name in names]),
            TableColumn("rows", weights.tolist(), counts_form(weights.tolist())),
            TableColumn("share", shares, "share"),
        ],
        Drawing("bars", shares, narrowest=4, widest=24),
    )


def description_content(description: Description, top: int | None = None) -> list[Content]:
    """The distinguishing columns of the components."""
    return [content for own in traits_tables(description, top or TRAIT_LINES) for content in (*own, GAP)]


def traits_tables(description: Description, top: int) -> list[list[Content]]:
    """The most distinctive columns of each component."""
    found: list[list[Content]] = []
    for each in description.components[:LISTED_COMPONENTS]:
        traits = each.traits[:top]
        table = Table(
            [
                TableColumn("column", [trait.column for trait in traits], wraps=True),
                TableColumn("here", [trait.here for trait in traits], longest=TRAIT_CHARACTERS, wraps=True),
                TableColumn("elsewhere", [trait.elsewhere for trait in traits], longest=TRAIT_CHARACTERS, wraps=True),
                TableColumn("nats", [trait.nats for trait in traits], ".2f"),
            ]
        )
        title = f"{one_line(description.groups)} {one_line(each.name)}, {each.share:.1%} of the rows"
        found.append([Paragraph(title, "title"), table])
    return found


def choices_table(mixture: Mixture) -> Table:
    """The numbers of components tried, the most probable first."""
    shown, posterior = mixture.choices[:LISTED_CHOICES], mixture.component_posterior
    best: dict[int, float] = {}
    for choice in mixture.choices:
        best.setdefault(choice.components, choice.log_evidence)
    firsts = [best[each.components] == each.log_evidence for each in shown]
    chances = [posterior.get(each.components) if first else None for each, first in zip(shown, firsts, strict=True)]
    return Table(
        [
            TableColumn("components", [each.components for each in shown], "count"),
            TableColumn("covariance", [each.covariance for each in shown]),
            TableColumn("log evidence", [each.log_evidence for each in shown], ".2f"),
            TableColumn("P(components)", chances, ".4f"),
        ]
    )
