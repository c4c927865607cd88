"""The likelihood of each column in a classifier: given or inferred."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal, get_args

import pyarrow as pa

from credo.blocks.block import Block
from credo.data import Batch, Source
from credo.data.profile import Profile, profile, tell_of_words, why_ignored
from credo.data.schema import CalendarPart, Kind, checked_kinds
from credo.errors import DataError, SchemaError, check_positive_number, check_whole, suggest
from credo.notices import tell, tell_of_columns

NumberForm = Literal["gaussian", "log", "binned"]
WordsForm = Literal["multinomial", "bernoulli"]
GaussianForm = Literal["tied", "full"]
PairForm = Literal["tree", "one-dependence", "pairwise"]
FamilyForm = Literal["k-dependence"]
Form = Literal[
    "category", "count", "gaussian", "log", "binned", "coarse", "date", "weekday", "month", "hour",
    "words", "binary", "logs", "presences", "odds", "pairs", "word", "conjugate",
]  # fmt: skip
NUMBER_FORMS: tuple[Form, ...] = ("gaussian", "log", "coarse", "binned")  # the plainest first
CALENDAR_FORMS: tuple[CalendarPart, ...] = ("weekday", "month", "hour")  # read from dates, beside the date as a number
WORD_FORMS: tuple[Form, ...] = ("words", "binary", "logs", "presences")  # likelihoods of texts, the plainest first
ODDS_FORMS: tuple[Form, ...] = ("odds", "pairs")
TEXT_FORMS = (*WORD_FORMS, *ODDS_FORMS)
GAUSSIAN_FORMS: tuple[GaussianForm, ...] = ("tied", "full")  # a joint Gaussian of all columns' one-hot features
PAIR_FORMS: tuple[PairForm, ...] = ("tree", "one-dependence", "pairwise")  # pairs of columns counted together
FAMILY_FORM: FamilyForm = "k-dependence"  # columns counted together with their parents
CELL_FORMS: tuple[PairForm | FamilyForm, ...] = (*PAIR_FORMS, FAMILY_FORM)
JOINT_FORMS: tuple[GaussianForm | PairForm | FamilyForm, ...] = (*GAUSSIAN_FORMS, *CELL_FORMS)
DEPENDENT_KINDS = ("category", "count", "gaussian", "log", "binned")  # the first forms of columns that can have parents
Views = Mapping[str, tuple[str, ...]]  # the forms that each column is counted in; the first is the requested one


@dataclass(frozen=True)
class Number:
    """The likelihood of a number column: Gaussian, log-normal, or binned at quantiles."""

    likelihood: NumberForm = "gaussian"

    def __post_init__(self) -> None:
        if self.likelihood not in get_args(NumberForm):
            known = get_args(NumberForm)
            raise SchemaError(f"no such likelihood, {self.likelihood!r}; {suggest(self.likelihood, known)}")

    @property
    def form(self) -> Form:
        return self.likelihood


@dataclass(frozen=True)
class Text:
    """The likelihood of a text column: multinomial or Bernoulli words.

    ngrams=2 adds bigrams. Words with a count below `min_count`, the `drop_most_common` commonest words and those beyond
    the `max_words` commonest are ignored. hashed: feature hashing (True: 2¹⁸ buckets), which bounds memory.
    token_pattern: a regular expression, by default two or more word characters.
    """

    words: WordsForm = "multinomial"
    ngrams: int = 1
    lowercase: bool = True
    min_count: int = 1
    drop_most_common: int = 0
    max_words: int | None = None
    hashed: bool | int = False
    stop_words: tuple[str, ...] | None = None
    token_pattern: str | None = None

    def __post_init__(self) -> None:
        if self.words not in get_args(WordsForm):
            raise SchemaError(f"no such words, {self.words!r}; {suggest(self.words, get_args(WordsForm))}")
        if self.ngrams not in (1, 2):
            raise SchemaError(f"ngrams must be 1 or 2, but is {self.ngrams!r}")
        for name, least in (("min_count", 1), ("drop_most_common", 0), ("max_words", 1)):
            value = getattr(self, name)
            if not (value is None and name == "max_words"):
                check_whole(name, value, least, SchemaError)
        if not isinstance(self.lowercase, bool):
            raise SchemaError(f"lowercase must be True or False, but is {self.lowercase!r:.60}")
        if isinstance(self.stop_words, str):
            raise SchemaError(f"stop_words are several words, but there is one string: {self.stop_words!r:.60}")
        if not isinstance(self.hashed, bool) and not (isinstance(self.hashed, int) and 0 < self.hashed <= MOST_BUCKETS):
            what = f"a number of buckets from 1 to {MOST_BUCKETS}"
            raise SchemaError(f"hashed must be True, False or {what}, but is {self.hashed!r:.60}")
        object.__setattr__(self, "stop_words", None if self.stop_words is None else tuple(self.stop_words))
        try:
            re.compile(self.token_pattern or "")
        except re.error as error:
            raise SchemaError(f"token_pattern {self.token_pattern!r} isn't a regular expression: {error}") from None

    @property
    def form(self) -> Form:
        return "words" if self.words == "multinomial" else "presences"

    @property
    def views(self) -> tuple[Form, ...]:
        """The forms that tuning may add or substitute."""
        odds = ODDS_FORMS[:1] if self.ngrams == 2 or self.hashed is not False else ODDS_FORMS
        return (*WORD_FORMS, *odds)

    def block(self, name: str, form: str) -> Block:
        """The words of a column, in one of its forms."""
        from credo.blocks.text.bernoulli import Presences
        from credo.blocks.text.column import Cuts
        from credo.blocks.text.log_odds import Odds, Pairs
        from credo.blocks.text.multinomial import Binary, Logs, Words
        from credo.data.tokens import Tokeniser

        buckets = None if self.hashed is False else BUCKETS if self.hashed is True else int(self.hashed)
        stop = frozenset(self.stop_words or ())
        ngrams = 2 if form == "pairs" else self.ngrams
        reading = Tokeniser(self.lowercase, ngrams, stop, self.token_pattern, buckets)
        cuts = Cuts(self.min_count, self.drop_most_common, self.max_words)
        kinds: dict[str, Any] = {
            "words": Words, "binary": Binary, "logs": Logs, "presences": Presences, "odds": Odds, "pairs": Pairs,
        }  # fmt: skip
        block: Block = kinds[form](name, reading, cuts)
        return block


@dataclass(frozen=True)
class Word:
    """The likelihood of a column of single words: a category in which unseen words are predicted from their ending (of
    at most `endings` letters) and shape. strength: the prior weight, in words, of a shorter ending's distribution."""

    endings: int = 5
    strength: float = 5.0

    def __post_init__(self) -> None:
        if not isinstance(self.endings, int) or isinstance(self.endings, bool) or not 0 <= self.endings <= 20:
            raise SchemaError(f"endings must be a whole number from 0 to 20, but is {self.endings!r:.60}")
        check_positive_number("strength", self.strength, SchemaError)

    @property
    def form(self) -> Form:
        return "word"

    def block(self, name: str) -> Block:
        from credo.blocks.spelled import Spelled

        return Spelled((name,), self.endings, self.strength)


# How to read columns, where it is given: a kind, a Number, a Text or a Word (which type checkers join as object).
Kinds = Mapping[str, Any] | None


BUCKETS, MOST_BUCKETS = 2**18, 2**26
FORM_OF: dict[Kind, Form] = {
    "category": "category", "count": "count", "number": "gaussian", "date": "date", "text": "words",
}  # fmt: skip
KIND_OF_FORM: dict[str, Kind] = {"category": "category", "count": "count", "date": "date"}


def kind_of_form(form: str) -> Kind:
    """The kind of a column that is read in that form."""
    return KIND_OF_FORM.get(form, "text" if form in TEXT_FORMS else "number")


def settled_views(table: Source, features: Sequence[str], kinds: Kinds) -> tuple[Source, Views]:
    """The form of each column, as requested or by its kind over all rows; and the table, which may be an iterator."""
    if not isinstance(kinds, Mapping | None):
        raise SchemaError(f"kinds must be {{column: kind}}, but is {kinds!r:.60}")
    asked = dict(kinds or {})
    if unseen := [name for name in asked if name not in features and name in table.names]:
        raise SchemaError(f"kinds names {unseen[0]!r}, which holds classes or weights: it isn't learned from")
    forms: dict[str, Form] = {name: how.form for name, how in asked.items() if isinstance(how, Number | Text | Word)}
    named = checked_kinds({name: how for name, how in asked.items() if name not in forms}, table.names)
    checked_kinds(dict.fromkeys(forms, "number"), table.names)
    unsure = [name for name in features if name not in asked]
    if unsure:
        table, found = _found_kinds(table, unsure)
    views: dict[str, tuple[str, ...]] = {}
    for name in features:
        form = forms.get(name) or FORM_OF.get(named.get(name) or found[name])
        if form:
            views[name] = (form,)
    return table, views


def _found_kinds(table: Source, names: Sequence[str]) -> tuple[Source, dict[str, Kind]]:
    """The kinds inferred from all rows, or from the first ones if rows can be read only once."""
    if table.once:
        table, first = _peeked(table)
        profiles = {name: Profile.of(first.column(name)) for name in names}
        tell(f"column kinds were inferred from the first {first.rows} rows")
        return table, _kinds(profiles)
    clear = _clear_kinds(table, names)
    rest = [name for name in names if name not in clear]
    profiles = profile(table, rest) if rest else {}
    return table, {**clear, **_kinds(profiles)}


def _kinds(profiles: Mapping[str, Profile]) -> dict[str, Kind]:
    ignored = {name: found for name, found in profiles.items() if found.kind == "ignore"}
    tell_of_columns(((name, why_ignored(found)) for name, found in ignored.items()), "ignored")
    tell_of_words(profiles)
    return {name: found.kind for name, found in profiles.items()}


def _clear_kinds(table: Source, names: Sequence[str]) -> dict[str, Kind]:
    """The columns whose kind is certain from the first rows: numbers with at least three distinct values."""
    head = table.first(names, PEEKED_ROWS)
    if head is None:
        raise DataError("the data is empty: there are no rows to learn from")
    clear: dict[str, Kind] = {}
    for name in names:
        array = head.column(name)
        known = pa.types.is_floating(array.type) and array.null_count < len(array)  # NaN is null by now
        if known or (pa.types.is_integer(array.type) and len(Profile.of(array).values) > 2):
            clear[name] = "number"
    return clear


PEEKED_ROWS = 4096  # first rows of an iterator, from which kinds are inferred


def _peeked(table: Source) -> tuple[Source, Batch]:
    """A table that can be read only once, and its first rows, which it still gives."""
    stream = table.batches(table.names)
    first = next(stream, None)
    if first is None:
        raise DataError("the data is empty: there are no rows to learn from")

    def read(wanted: Sequence[str]) -> Iterator[Batch]:
        return (batch.only(wanted) for batch in chain([first], stream))

    return replace(table, read=read), first
