"""The page's part about texts: the strongest words of each class, and documents with coloured words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.asking.protocol import ExplainedText, Waterfall, waterfall
from credo.data import Batch, Source, source
from credo.errors import EvidenceError
from credo.models.forms import ODDS_FORMS, TEXT_FORMS
from credo.present.coloured_text import coloured
from credo.present.html import bar_of, named, tabulated
from credo.present.numbers import whole

if TYPE_CHECKING:
    from credo.models.classifier import Classifier

WORD_CLASSES, CLASS_WORDS = 8, 12  # classes with their strongest words; words per class
EXPLAINED_DOCUMENTS = 6  # on a page
LISTED_WORDS, SUMMED_COLUMNS = 8, 4  # below a text; in the sum of weights
WEIGHT_MEANING = "log P(word | class)/P(word | other classes), and its count in the class"
TUNED_WEIGHT_MEANING = (
    "the tuned model's mean weight against the other classes, and the number of the class's texts that have it"
)


def strongest_words(model: Classifier) -> str:
    """The strongest words of each text column and each of the commonest classes; hashed words have no names."""
    columns = named_texts(model)
    if not columns:
        return ""
    classes = _commonest(model)[:WORD_CLASSES]
    parts = [
        (f"<h3>{named(name)}</h3>\n" if len(columns) > 1 else "")
        + f'<div class="figures">{"".join(_words(model, value, name) for value in classes)}</div>'
        for name in columns
    ]
    rest = len(model.classes) - len(classes)
    more = f"; {rest:,} more classes not shown" if rest else ""
    weight = TUNED_WEIGHT_MEANING if _reads_odds(model) else WEIGHT_MEANING
    about = (
        f"Each with its weight of evidence in nats, {weight}. The bar is their product: the word's total weight in the "
        f"class{more}."
    )
    return f'<h2>Strongest words</h2>\n<p class="faint">{about}</p>\n{chr(10).join(parts)}'


def _words(model: Classifier, value: object, column: str) -> str:
    found = model.top_words(value, CLASS_WORDS, column=column).to_pylist()
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
    """A few of the examples, their words coloured by their weights."""
    columns = _texts(model)
    if not columns or examples is None or len(model.classes) < 2:
        return ""
    shown = "\n".join(
        _document(found, truth, len(columns) > 1) for found, truth in _explained(model, examples, columns)
    )
    if not shown:
        return ""
    about = (
        '<span class="key for"></span>evidence for the named class, <span class="key against"></span>against it; the '
        "stronger the colour, the larger the weight. The model may have been trained on these documents."
    )
    return f'<h2>Documents, explained</h2>\n<p class="faint">{about}</p>\n{shown}'


def named_texts(model: Classifier) -> list[str]:
    """Text columns whose words aren't hashed."""
    return [name for name in _texts(model) if not getattr((model.kinds or {}).get(name), "hashed", False)]


def _texts(model: Classifier) -> list[str]:
    return [name for name, forms in model.views.items() if forms[0] in TEXT_FORMS]


def _reads_odds(model: Classifier) -> bool:
    return model.tuning is not None and any(form in ODDS_FORMS for own in model.tuning.forms.values() for form in own)


def _commonest(model: Classifier) -> list[Any]:
    return [model.classes[k] for k in np.argsort(-model.class_weights, kind="stable")]


def _explained(model: Classifier, examples: object, columns: Sequence[str]) -> Iterator[tuple[Waterfall, Any]]:
    """The explanations and labels of documents that are neither empty nor impossible under every class."""
    for row, truth in _chosen(model, source(examples), columns):
        with suppress(EvidenceError):
            found = model.explain(Source.of_batch(row))
            if any(found.values.get(name) for name in columns):
                yield waterfall(found), truth


def _chosen(model: Classifier, table: Source, columns: Sequence[str]) -> list[tuple[Batch, Any]]:
    """The first documents of the commonest classes, equally many of each; if unlabelled, the first documents."""
    target = str(model.target) if model.target in table.names else None
    classes = _commonest(model)[:EXPLAINED_DOCUMENTS] if target else [None]
    found: dict[Any, list[Batch]] = {value: [] for value in classes}
    left = dict.fromkeys(classes, EXPLAINED_DOCUMENTS // len(classes))
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


def _document(found: Waterfall, truth: object, several: bool) -> str:
    right = str(truth) == found.of
    label = "" if truth is None else f", labelled {named(truth)}" if right else f", <b>but labelled {named(truth)}</b>"
    texts = "\n".join(
        (f'<p class="faint">{named(each["name"])}</p>' if several else "") + _coloured(each) for each in found.texts
    )
    title = f"<p><b>P({named(found.of)}) = {found.probability:.4g}</b>{label}</p>"
    return f'<div class="document">{title}\n{texts}\n<p class="faint">{_sum(found)}</p></div>'


def _coloured(found: ExplainedText) -> str:
    strongest = ", ".join(f"{named(each['word'])} {each['weight']:+.2f}" for each in found["words"][:LISTED_WORDS])
    return f'{coloured(found["text"], found["words"])}<p class="faint">{strongest}</p>'


def _sum(found: Waterfall) -> str:
    """prior + weights = log-odds."""
    weights = [each for each in found.weights if each["weight"]]
    terms = [
        f"prior {found.prior:+.2f}",
        *(f"{named(each['name'])} {each['weight']:+.2f}" for each in weights[:SUMMED_COLUMNS]),
    ]
    if rest := weights[SUMMED_COLUMNS:]:
        terms.append(f"{len(rest):,} more {sum(each['weight'] for each in rest):+.2f}")
    return f"{', '.join(terms)}: log-odds {found.log_odds:+.2f} against {named(found.against)}, in {found.unit}"
