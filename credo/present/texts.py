"""The page's part about texts: the words that speak most for each class, and documents with their words coloured."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from credo.data import Batch, Source, source
from credo.errors import EvidenceError
from credo.models.explaining import Explanation, Spoken
from credo.models.forms import ODDS_FORMS, TEXT_FORMS
from credo.present.page import bar_of, named, tabulated, whole

if TYPE_CHECKING:
    from credo.models.classifier import Classifier

CLASSES, WORDS = 8, 12  # whose words are shown; how many of each
DOCUMENTS, LONGEST = 6, 1500  # that are shown; characters of each
SAID, SUMMED = 8, 4  # words that are listed below a text, columns of a sum
FAINTEST = 1 / 20  # of the strongest weight: what says less isn't coloured
WEIGHT = "log P(word | class)/P(word | the others), and how often the class has it"
TUNED_WEIGHT = "as the tuned model weighs it on average against the other classes, and how many of its texts have it"
CERTAIN = 50.0  # nats: more says no more
UNSEEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")  # what a page must not hold


class Piece(NamedTuple):
    """A part of a text, and what it says."""

    text: str
    weight: float


def pieces(text: str, spoken: Sequence[Spoken]) -> list[Piece]:
    """The text, cut where words begin and end; a word's weight is shared out evenly over the characters it covers.

    >>> city = [Spoken("new york", 2.0, ((3, 11),)), Spoken("new", 1.0, ((3, 6),)), Spoken("york", -1.0, ((7, 11),))]
    >>> [(piece.text, round(piece.weight, 2)) for piece in pieces("in New York", city)]
    [('in ', 0.0), ('New', 1.75), (' ', 0.25), ('York', 0.0)]
    """
    density, cuts = np.zeros(len(text)), {0, len(text)}
    for each in spoken:
        length = sum(end - start for start, end in each.places)
        for start, end in each.places if length else ():
            density[start:end] += np.clip(np.nan_to_num(each.weight), -CERTAIN, CERTAIN) / length
            cuts |= {min(start, len(text)), min(end, len(text))}
    ends = sorted(cuts)
    return [Piece(text[a:b], float(density[a:b].sum())) for a, b in pairwise(ends)]


def strongest_words(model: Classifier) -> str:
    """Of each column of texts and each of the commonest classes; words known by a hash alone can't be shown."""
    columns = [name for name in _texts(model) if not getattr((model.kinds or {}).get(name), "hashed", False)]
    if not columns:
        return ""
    classes = _commonest(model)[:CLASSES]
    parts = [
        (f"<h3>{named(name)}</h3>\n" if len(columns) > 1 else "")
        + f'<div class="figures">{"".join(_words(model, value, name) for value in classes)}</div>'
        for name in columns
    ]
    rest = len(model.classes) - len(classes)
    more = f"; {rest:,} more classes are not shown" if rest else ""
    weight = TUNED_WEIGHT if _reads_odds(model) else WEIGHT
    about = (
        f"Each with its weight of evidence, {weight}, in nats. The bar is their product, what it says in all texts of "
        f"the class{more}."
    )
    return f'<h2>Words that decide</h2>\n<p class="faint">{about}</p>\n{chr(10).join(parts)}'


def _words(model: Classifier, value: object, column: str) -> str:
    found = model.top_words(value, WORDS, column=column).to_pylist()
    most = max((each["weight"] * each["count"] for each in found), default=1.0)
    rows = (
        (
            named(each["word"]),
            bar_of(each["weight"] * each["count"] / most),
            f"{each['weight']:+.2f}",
            whole(each["count"]),
        )
        for each in found
    )
    return f"<figure><b>{named(value)}</b>{tabulated((), rows, 'values strongest') if found else ''}</figure>\n"


def documents(model: Classifier, examples: object) -> str:
    """A few of the examples, their words coloured by what they say."""
    columns = _texts(model)
    if not columns or examples is None or len(model.classes) < 2:
        return ""
    shown = "\n".join(_document(found, columns, truth) for found, truth in _explained(model, examples, columns))
    if not shown:
        return ""
    about = (
        '<span class="key for"></span>speaks for the class that is named, <span class="key against"></span>against '
        "it; the stronger the colour, the more. The model may have learned from these very documents."
    )
    return f'<h2>Documents, explained</h2>\n<p class="faint">{about}</p>\n{shown}'


def _texts(model: Classifier) -> list[str]:
    return [name for name, forms in model.views.items() if forms[0] in TEXT_FORMS]


def _reads_odds(model: Classifier) -> bool:
    return model.tuning is not None and any(form in ODDS_FORMS for own in model.tuning.forms.values() for form in own)


def _commonest(model: Classifier) -> list[Any]:
    return [model.classes[k] for k in np.argsort(-model.class_weights, kind="stable")]


def _explained(model: Classifier, examples: object, columns: Sequence[str]) -> Iterator[tuple[Explanation, Any]]:
    """With what each was labelled as; passed over are those that no class can have, and whose text has no say."""
    for row, truth in _chosen(model, source(examples), columns):
        with suppress(EvidenceError):
            found = model.explain(Source.of_batch(row))
            if any(found.values.get(name) for name in columns):
                yield found, truth


def _chosen(model: Classifier, table: Source, columns: Sequence[str]) -> list[tuple[Batch, Any]]:
    """The first documents of the commonest classes, as many of each; of a table without classes, the first ones."""
    target = str(model.target) if model.target in table.names else None
    classes = _commonest(model)[:DOCUMENTS] if target else [None]
    found: dict[Any, list[Batch]] = {value: [] for value in classes}
    left = dict.fromkeys(classes, DOCUMENTS // len(classes))
    for batch in table.batches([name for name in table.names if name in model.views or name == target]):
        truths = batch.column(target).to_pylist() if target else [None] * batch.rows
        for i, truth in enumerate(truths):
            if left.get(truth) and any(_cell(batch, name, i) for name in columns):
                left[truth] -= 1
                found[truth].append(batch.slice(i, 1))
        if not any(left.values()):
            break
    return [(row, truth) for truth, rows in found.items() for row in rows]


def _cell(batch: Batch, name: str, row: int) -> Any:
    return batch.column(name)[row].as_py() if name in batch.names else None


def _document(found: Explanation, columns: Sequence[str], truth: object) -> str:
    right = truth == found.of
    label = "" if truth is None else f", labelled {named(truth)}" if right else f", <b>but labelled {named(truth)}</b>"
    texts = "\n".join(
        (f'<p class="faint">{named(name)}</p>' if len(columns) > 1 else "") + _coloured(found, name)
        for name in columns
        if found.values.get(name)
    )
    title = f"<p><b>P({named(found.of)}) = {found.probability:.4g}</b>{label}</p>"
    return f'<div class="document">{title}\n{texts}\n<p class="faint">{_sum(found)}</p></div>'


def _coloured(found: Explanation, name: str) -> str:
    text, spoken = str(found.values[name]), found.words.get(name, ())
    parts = pieces(UNSEEN.sub("·", text[:LONGEST]), spoken)
    largest = max((abs(part.weight) for part in parts), default=0.0)
    shown = "".join(_piece(part, largest) for part in parts) + (" …" if len(text) > LONGEST else "")
    strongest = ", ".join(f"{named(each.word)} {each.weight:+.2f}" for each in spoken[:SAID])
    return f'<p class="text" dir="auto">{shown}</p><p class="faint">{strongest}</p>'


def _piece(piece: Piece, largest: float) -> str:
    if abs(piece.weight) <= largest * FAINTEST:
        return escape(piece.text)
    side, depth = "for" if piece.weight > 0 else "against", 0.1 + 0.55 * abs(piece.weight) / largest
    return f'<span class="{side}" style="--a:{depth:.2f}" title="{piece.weight:+.2f}">{escape(piece.text)}</span>'


def _sum(found: Explanation) -> str:
    """prior + weights = log-odds."""
    names = [name for name in found.strongest if found.weights[name]]
    shown = (f"{named(found.shown(name))} {found.weights[name]:+.2f}" for name in names[:SUMMED])
    terms = [f"prior {found.prior:+.2f}", *shown]
    if len(names) > SUMMED:
        terms.append(f"{len(names) - SUMMED:,} more {sum(found.weights[name] for name in names[SUMMED:]):+.2f}")
    return f"{', '.join(terms)}: log-odds {found.log_odds:+.2f} against {named(found.against)}, in {found.unit}"
