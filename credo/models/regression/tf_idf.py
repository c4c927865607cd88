"""Texts as features of a regression: the words that a text holds, and pairs of neighbours, weighted by tf-idf."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from credo.blocks.capabilities import Ignored
from credo.blocks.text.column import NEW_WORDS, KnownWords, Texts
from credo.blocks.text.tf_idf import idf, to_unit_length
from credo.core.evidence import Evidence
from credo.data import Batch
from credo.data.tokens import Tokeniser
from credo.data.words import Vocabulary
from credo.models.forms import TEXT_FORMS, Kinds, Text, Views
from credo.numerics.exact import Array
from credo.numerics.softmax import SparseRows

if TYPE_CHECKING:
    import pyarrow as pa

DEFAULT_TEXT = Text(words="bernoulli", ngrams=2, min_count=2)  # unless `kinds` gives another


def text_settings(views: Views, kinds: Kinds) -> dict[str, Text]:
    """How each text column is read: as given by `kinds`, or words and pairs that occur in at least two texts."""
    asked = {name: how for name, how in (kinds or {}).items() if isinstance(how, Text)}
    return {name: asked.get(name, DEFAULT_TEXT) for name, (form, *_) in views.items() if form in TEXT_FORMS}


def block_of(name: str, how: Text) -> Texts:
    """The block that counts the texts with each word."""
    block = how.block(name, "presences")
    assert isinstance(block, Texts)
    return block


@dataclass(frozen=True, eq=False)
class TextFeatures:
    """(1 + log tf) · idf of each word, over their Euclidean norm in the text, with idf = 1 + log (1 + n)/(1 + df).

    tf: the count of the word in the text; df: the number of texts with it, of n. A missing text has no words: all
    features are 0.
    """

    name: str
    how: Text
    words: pa.Array  # an Arrow array
    idf: Array  # idf of each word

    @classmethod
    def of(cls, name: str, how: Text, evidence: Evidence) -> TextFeatures:
        """From the document frequency of each word."""
        block = block_of(name, how)
        holding = np.asarray(evidence[block.documents].n.along(0))
        kept = np.flatnonzero(block.cuts.kept(holding))
        texts = float(evidence[block.texts].n.value.sum())
        return cls(name, how, evidence.schema[block.axis].levels.take(kept), idf(texts, holding[kept]))

    @property
    def width(self) -> int:
        return len(self.idf)

    @cached_property
    def reading(self) -> Tokeniser:
        return block_of(self.name, self.how).reading

    @cached_property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary.of(self.words, self.reading)

    def read(self, batch: Batch) -> tuple[SparseRows, Ignored]:
        """The texts' features, and the number of texts with unseen words only."""
        found = batch.encoded(KnownWords(self.name, self.vocabulary))
        values = to_unit_length((1.0 + np.log(found.counts)) * self.idf[found.words], found.starts)
        unseen = int(((found.unseen > 0) & (np.diff(found.starts) == 0)).sum())
        ignored = {(self.name, NEW_WORDS): unseen} if unseen else {}
        return SparseRows(found.starts, found.words, values, self.width), ignored
