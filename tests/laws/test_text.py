"""What texts promise: reasons word by word, vocabularies that come and go with their documents, honest curves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import credo
from credo.data import source
from credo.data.schema import Axis, Derived
from credo.errors import CredoError, Notice
from credo.models.classifier import Classifier
from credo.selection.candidate_forms import with_candidate_forms
from credo.selection.tuned import TunedClassifier
from credo.selection.tuning import Tuning
from tests.laws.classifiers import assert_same, changed, pick, unheard, written

Table = dict[str, Any]


def letters(seed: int, size: int) -> Table:
    """Texts of two kinds, and a number beside them."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 2, size)
    words = np.array(["gold", "win", "free", "lunch", "home", "train", "the", "and", "İstanbul", "σοφός"], dtype=object)
    spam, plain = np.array([5, 4, 4, 1, 1, 1, 6, 6, 1, 1]), np.array([1, 1, 1, 4, 4, 5, 6, 6, 2, 1])
    texts = [
        " ".join(
            [*rng.choice(words, rng.integers(1, 15), p=(spam if k else plain) / (spam if k else plain).sum()), f"n{i}"]
        )
        for i, k in enumerate(kind)
    ]
    table = {"text": np.array(texts, dtype=object), "size": rng.normal(kind, 2.0)}
    return {**table, "kind": np.array(["ham", "spam"], dtype=object)[kind]}


@pytest.fixture(scope="module")
def table() -> Table:
    return letters(0, 160)


@pytest.fixture(scope="module", params=["multinomial", "bernoulli"])
def how(request: pytest.FixtureRequest) -> credo.Text:
    return credo.Text(request.param)


@pytest.mark.parametrize("estimate", ["bayes", "mean", "map"])
@pytest.mark.parametrize("tune", [False, True])
def test_words_add_up_to_their_text(table: Table, how: credo.Text, estimate: Any, tune: bool) -> None:
    fitted = credo.NaiveBayes(kinds={"text": how}, estimate=estimate, smoothing=1.5).fit(table, "kind")
    model: Classifier = fitted.tune(table) if tune else fitted
    for text in ("Win FREE gold, the free gold!", "home", "nobody knows these", " "):
        with unheard():
            reasons = model.explain({"text": text, "size": 1.0}, of="spam", against="ham")
            (log_shares,) = model.predict_log_proba([{"text": text, "size": 1.0}])
        assert reasons.log_odds == pytest.approx(log_shares[1] - log_shares[0], abs=1e-9)
        spoken = reasons.words["text"]
        assert sum(each.weight for each in spoken) == pytest.approx(reasons.weights["text"], abs=1e-9)
        for each in spoken:
            for start, end in each.places:
                assert text[start:end].lower() == each.word
        assert [abs(each.weight) for each in spoken] == sorted((abs(each.weight) for each in spoken), reverse=True)


@pytest.mark.parametrize("likelihood", ["words", "binary", "logs", "presences"])
def test_words_of_any_view_add_up(table: Table, likelihood: str) -> None:
    model = with_odds(table, None, likelihood)
    with unheard():
        reasons = model.explain({"text": "Win FREE gold, the free gold!", "size": 1.0}, of="spam", against="ham")
    assert sum(each.weight for each in reasons.words["text"]) == pytest.approx(reasons.weights["text"], abs=1e-9)


def counted(amount: Callable[[Any], Any], table: Table, rows: Any) -> Any:
    """log-odds of texts by a multinomial of such amounts of each word, class by class, each plus 1/2."""
    vocabulary = sorted({word for text in table["text"] for word in text.lower().split()})
    matrix = amount(np.array([[text.lower().split().count(word) for word in vocabulary] for text in table["text"]]))
    sums = np.array([matrix[table["kind"] == value].sum(0) + 0.5 for value in ("spam", "ham")])
    return matrix[rows] @ (np.log(sums[0] / sums[0].sum()) - np.log(sums[1] / sums[1].sum()))


@pytest.mark.parametrize(("likelihood", "amount"), [("binary", np.sign), ("logs", lambda x: np.log2(1 + x))])
def test_amounts_of_words(table: Table, likelihood: str, amount: Any) -> None:
    """Words that count once, or by the logarithm of their number, say what a multinomial of these amounts does."""
    plain = {**table, "text": np.array([text.replace("İ", "I") for text in table["text"]], dtype=object)}
    model = changed(with_odds(plain, None, likelihood), estimate="mean")
    assert model.tuning is not None
    forms, weights = {"text": (likelihood,)}, {likelihood: {"text": 1.0}}
    alone = changed(model, tuning=replace(model.tuning, forms=forms, weights=weights, label_noise=0.0))
    found = alone.explain({"text": plain["text"][3], "size": 0.0}, of="spam", against="ham").weights["text"]
    assert found == pytest.approx(counted(amount, plain, [3])[0], abs=1e-9)


def test_words_that_speak_for_a_class(table: Table, how: credo.Text) -> None:
    model = credo.NaiveBayes(kinds={"text": how}).fit(table, "kind")
    assert set(model.top_words("spam", 3)["word"].to_pylist()) == {"gold", "win", "free"}
    assert set(model.top_words("ham", 3)["word"].to_pylist()) == {"lunch", "home", "train"}
    assert min(model.top_words("ham", 3)["weight"].to_pylist()) > 0
    with pytest.raises(CredoError, match="no text column 'size'; known: text"):
        model.top_words("ham", column="size")


@pytest.mark.parametrize("average", [False, True])
def test_words_that_decide_are_those_that_reasons_name(average: bool) -> None:
    """What a tuned model's words say in all texts of a class is about what explanations of these texts add up to."""
    table = letters(1, 300)
    table = {"text": np.array([text.replace("İ", "I") for text in table["text"]], dtype=object), "kind": table["kind"]}
    model = changed(with_odds(table, None), average=average)
    for value, other in (("spam", "ham"), ("ham", "spam")):
        said: dict[str, float] = {}
        texts = table["text"][table["kind"] == value]
        for text in texts:
            for each in model.explain({"text": text}, of=value, against=other).words["text"]:
                said[each.word] = said.get(each.word, 0.0) + each.weight
        found = model.top_words(value, 12).to_pylist()
        assert any(" " in each["word"] for each in found)
        for each in found:
            assert each["weight"] * each["count"] == pytest.approx(said[each["word"]], rel=0.25)
            held = [text for text in texts if f" {each['word']} " in f" {text.lower()} "]
            assert each["count"] == len(held)
        order = [each["weight"] * each["count"] for each in found]
        assert order == sorted(order, reverse=True)
        assert max(said, key=lambda word: said[word]) in [each["word"] for each in found[:3]]


def test_a_column_that_tuning_left_out_has_no_words_that_decide(table: Table) -> None:
    model = with_odds(table, None)
    assert model.tuning is not None
    silent = replace(model.tuning, forms={"size": ("gaussian",), "text": ()})
    assert changed(model, tuning=silent).top_words("spam").num_rows == 0


@pytest.mark.parametrize("average", [False, True])
def test_words_of_an_averaged_model_add_up(table: Table, how: credo.Text, average: bool) -> None:
    few = pick(table, slice(0, 12))
    model = credo.NaiveBayes(kinds={"text": how}, average=average).fit(few, "kind")
    with unheard():
        reasons = model.explain({"text": "Win FREE gold at home", "size": 1.0})
    spoken = reasons.words["text"]
    assert sum(each.weight for each in spoken) == pytest.approx(reasons.weights["text"], abs=1e-9)


def test_bernoulli_words_decide_by_being_there(table: Table) -> None:
    model = credo.NaiveBayes(kinds={"text": credo.Text("bernoulli")}).fit(table, "kind")
    with unheard():
        reasons = model.explain({"text": "gold"}, of="spam", against="ham")
    spoken = {each.word: each.weight for each in reasons.words["text"]}
    found = {each["word"]: each["weight"] for each in model.top_words("spam").to_pylist()}
    assert found["gold"] == pytest.approx(spoken["gold"])


def test_vocabularies_come_and_go(table: Table, how: credo.Text) -> None:
    """Words are there while a document that holds them is."""
    learner = credo.NaiveBayes(kinds={"text": how})
    first, second = pick(table, slice(0, 100)), pick(table, slice(100, 160))
    one, both = learner.fit(first, "kind"), learner.fit(table, "kind")
    later = one.update(second)
    assert_same(later, both, table)
    assert_same(one + learner.fit(second, "kind"), both, table)
    back = later.forget(second)
    assert_same(back, one, table)
    assert back.seen.schema["text"].values == one.seen.schema["text"].values
    assert "n150" in later.seen.schema["text"].values
    assert "n150" not in back.seen.schema["text"].values
    with pytest.raises(CredoError, match="never learned"):
        one.forget(second)


def test_a_sum_of_tuned_models_says_what_it_lost(table: Table) -> None:
    one, two = (with_odds(pick(table, rows), None) for rows in (slice(0, 80), slice(80, 160)))
    assert two.tuning is not None
    two = changed(two, tuning=replace(two.tuning, label_noise=0.03))
    lost = r"untuned, and its extra statistics are dropped \(binary of 'text', .* pairs of 'text',.*: tune\(data\) with"
    with pytest.warns(Notice, match=lost):
        both = one + two
    again = both.tune(table)
    assert again.tuning == credo.NaiveBayes(kinds=one.kinds).fit(table, "kind").tune(table).tuning
    plain = credo.NaiveBayes(kinds=one.kinds).fit(table, "kind")
    assert_same(both, plain, table)


def test_texts_one_by_one(table: Table, how: credo.Text) -> None:
    learner = credo.NaiveBayes(kinds={"text": how})
    rows = [{name: cells[i] for name, cells in table.items()} for i in range(160)]
    live = learner.fit(pick(table, slice(0, 100)), "kind").live()
    for row in rows[100:]:
        live.observe(row)
    assert_same(live.freeze(), learner.fit(table, "kind"), table)
    (expected,) = live.freeze().predict_proba([{"text": "free gold", "size": 0.5}])
    assert list(live.predict_proba({"text": "free gold", "size": 0.5}).values()) == pytest.approx(expected.tolist())


@pytest.mark.parametrize("likelihood", ["words", "binary", "logs", "presences", None])
def test_tuned_texts_one_by_one(table: Table, likelihood: str | None) -> None:
    """Foreseen from the sums themselves, what was learned since among them: new words, weights and classes, too."""
    texts = {"text": table["text"], "kind": table["kind"]}
    model = with_odds(pick(texts, slice(0, 100)), None, likelihood or "words")
    assert model.tuning is not None
    forms = {"text": (*([likelihood] if likelihood else []), "odds", "pairs")}
    model = changed(model, tuning=replace(model.tuning, forms=forms))
    live, rng = model.live(), np.random.default_rng(3)
    assert live._predicts_from_sums
    new = ["Win FREE gold, the gold!", "home", "nobody knows these", " ", "", None, "n150 and n151", "the train " * 40]
    for i in range(100, 160):
        foreseen = live.predict_proba({"text": table["text"][i]})
        with unheard():
            (expected,) = live.freeze().predict_proba([{"text": table["text"][i]}])
        np.testing.assert_allclose(list(foreseen.values()), expected, atol=1e-10)
        kind = "new" if i % 20 == 0 else table["kind"][i]
        with unheard():  # that a class comes after tuning
            live.observe({"text": table["text"][i], "kind": kind}, weight=float(rng.choice([0.5, 1.0, 3.0])))
    live.observe({"text": None, "kind": "ham"})
    for text in new:
        with unheard():
            (expected,) = live.freeze().predict_proba([{"text": text}])
        np.testing.assert_allclose(list(live.predict_proba({"text": text}).values()), expected, atol=1e-10)


def test_what_a_tuned_text_adds_is_what_update_adds(table: Table) -> None:
    texts = {"text": table["text"], "kind": table["kind"]}
    model = with_odds(pick(texts, slice(0, 100)), None, "logs")
    live = model.live()
    for i in range(100, 160):
        live.observe({"text": table["text"][i], "kind": table["kind"][i]})
    assert_same(live.freeze(), model.update(pick(texts, slice(100, 160))), texts)


def test_a_text_column_is_found_out(table: Table) -> None:
    model = credo.NaiveBayes().fit(table, "kind")
    assert model.views == {"text": ("words",), "size": ("gaussian",)}
    assert "words: text" in repr(model)


def test_documents_alone(table: Table) -> None:
    """A list of strings is a table of one column."""
    model = credo.NaiveBayes().fit(list(table["text"]), target=table["kind"])
    assert model.predict(["free gold win", "home train"]).tolist() == ["spam", "ham"]
    with pytest.warns(Notice, match="column 'x': 1 cell with no known word"):
        model.predict(["unheard of"])


def test_tuning_calibrates(table: Table, how: credo.Text) -> None:
    """Words that come in packs make naive Bayes too sure."""
    packed = {**table, "text": np.array([f"{text} {text} {text}" for text in table["text"]], dtype=object)}
    plain = credo.NaiveBayes(kinds={"text": how}).fit(packed, "kind")
    tuned = plain.tune(packed)
    assert tuned.tuning is not None
    before = plain.leave_one_out(packed)
    assert tuned.leave_one_out(packed).log_loss <= before.log_loss + before.log_loss_error
    best = credo.learn(packed, target="kind", kinds={"text": how})
    assert best.report.columns[0].kind == "text"


@pytest.mark.parametrize(
    "cut", [{"min_count": 3}, {"drop_most_common": 2}, {"max_words": 4}, {"stop_words": ("the", "and")}]
)
def test_cuts(table: Table, cut: dict[str, Any]) -> None:
    """A word that is cut out says nothing: as if no text held it."""
    model = credo.NaiveBayes(kinds={"text": credo.Text(**cut), "size": "ignore"}).fit(table, "kind")
    counts = {word: sum(text.lower().split().count(word) for text in table["text"]) for word in ("the", "and", "gold")}
    assert min(counts["the"], counts["and"]) > counts["gold"]
    silent = {"min_count": "n7", "drop_most_common": "the", "max_words": "n7", "stop_words": "and"}[next(iter(cut))]
    with unheard():
        with_it, without = model.predict_proba([{"text": f"gold {silent}"}, {"text": "gold"}])
    np.testing.assert_array_equal(with_it, without)
    names = {line["parameter"] for line in model.parameters().to_pylist()}
    assert f"P({silent})" not in names
    assert "P(gold)" in names


def test_a_curve_is_what_fits_give(table: Table, how: credo.Text) -> None:
    model = credo.NaiveBayes(kinds={"text": how}).fit(table, "kind")
    curve = model.learning_curve(table, sizes=[20, 50, 107], seed=3)
    order = np.random.default_rng(3).permutation(160)
    withheld = pick(table, np.sort(order[107:]))
    for size, scores in zip(curve.sizes, curve.scores, strict=True):
        with unheard():
            trained = changed(model, evidence=None).fit(pick(table, np.sort(order[:size])), "kind")
            expected = trained.scores(withheld)
        assert scores.log_loss == pytest.approx(expected.log_loss, rel=1e-9)
        assert scores.accuracy == pytest.approx(expected.accuracy)
    assert curve.table().num_rows == 3
    assert len(model.learning_curve(table).sizes) == 7
    assert curve.plot().axes[0].get_xscale() == "log"


@pytest.mark.slow
@pytest.mark.parametrize("learn", [False, True])
def test_the_curve_of_a_tuned_model_is_what_fits_and_tunings_give(table: Table, learn: bool) -> None:
    kinds = {"text": credo.Text(), "size": "ignore"} if learn else {"text": credo.Text()}
    learner = credo.NaiveBayes(kinds=kinds)
    model = learner.fit(table, "kind").tune(table)
    model = credo.learn(table, "kind", model="naive-bayes", kinds=kinds) if learn else model
    learner = replace(learner, average=model.settings.average)
    curve = model.learning_curve(table, sizes=[1, 30, 107], seed=3)
    order = np.random.default_rng(3).permutation(160)
    withheld = pick(table, np.sort(order[107:]))
    for size, scores in list(zip(curve.sizes, curve.scores, strict=True))[1:]:
        rows = pick(table, np.sort(order[:size]))
        with unheard():
            expected = learner.fit(rows, "kind").tune(rows, seed=3).scores(withheld)
        assert scores.log_loss == pytest.approx(expected.log_loss, rel=1e-6)
        assert scores.accuracy == pytest.approx(expected.accuracy)
    assert curve.tuned
    assert not learner.fit(table, "kind").learning_curve(table, sizes=[50]).tuned
    assert curve.log_loss[-1] < 1


def test_the_curve_of_what_is_read_jointly() -> None:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 90)
    rows = {"a": rng.normal(size=90), "b": rng.choice(["u", "v"], 90), "y": kind}
    table = {**rows, "c": rows["a"] + kind}
    model = credo.learn(table, "y")
    assert model.joint
    curve = model.learning_curve(table)
    assert curve.tuned
    assert curve.accuracy[-1] > 0.9


@pytest.mark.parametrize("wrong", [{"sizes": [0]}, {"sizes": [108]}, {"sizes": []}, {"withheld": 0}, {"withheld": 1.5}])
def test_curves_that_are_none(table: Table, wrong: dict[str, Any]) -> None:
    model = credo.NaiveBayes().fit(table, "kind")
    with pytest.raises(CredoError):
        model.learning_curve(table, **wrong)


def test_texts_without_words() -> None:
    """Empty, blank and missing ones; a class that has no word at all."""
    texts = np.array(["", " ", None, "?!", "gold", "gold lunch", None, ""], dtype=object)
    kinds = ["a", "a", "a", "a", "b", "b", "b", "a"]
    for words in ("multinomial", "bernoulli"):
        model = credo.NaiveBayes(kinds={"x": credo.Text(words)}).fit({"x": texts}, target=kinds)
        with unheard():
            shares = model.predict_proba({"x": texts})
            assert np.isfinite(model.leave_one_out({"x": texts}, target=kinds).log_loss)
        np.testing.assert_allclose(shares.sum(1), 1)
        np.testing.assert_array_equal(shares[[0, 2]], np.repeat(shares[6:7], 2, axis=0))  # missing: the prior


def test_words_that_only_one_class_has() -> None:
    rng = np.random.default_rng(5)
    kind = np.array([0, 1] * 20)
    model = credo.NaiveBayes(kinds={"x": credo.Text()}).fit({"x": written(rng, kind)}, target=kind)
    assert model.n_parameters == 1 + 2 * (len(model.seen.schema["x"].values) - 1)


def with_odds(table: Table, weights: Any, likelihood: str = "words", **how: Any) -> Classifier:
    """A tuning with three text terms and label noise."""
    plain = credo.NaiveBayes(kinds={"text": credo.Text(**how)}).fit(table, "kind", weight=weights)
    wide = with_candidate_forms(plain, source(table), weights)
    forms = {"text": (likelihood, "odds", "pairs")} | ({"size": ("gaussian",)} if "size" in table else {})
    voices = {likelihood: {"text": 0.3}, "odds": {"text": 0.8}, "pairs": {"text": 0.4}, "gaussian": {"size": 1.0}}
    odds: dict[Axis, tuple[float, float]] = {"text": (4.0, 1.0), Derived("pairs", "text"): (2.0, 0.5)}
    tuning = Tuning(forms, voices, plain.classes, (0.1, -0.1), 0.5, 1.0, plain.n, 0.0, odds=odds, label_noise=0.02)
    return TunedClassifier(wide, tuning)


@pytest.mark.parametrize("likelihood", ["words", "binary", "logs", "presences"])
@pytest.mark.parametrize("weight", [None, "some"])
@pytest.mark.parametrize("least", [1, 3])
@pytest.mark.slow
def test_leaving_a_text_out_of_a_tuned_model_is_forgetting_it(
    table: Table, weight: Any, least: int, likelihood: str
) -> None:
    """Also for log-odds terms, which depend on all classes, and with vocabulary cuts."""
    weights = None if weight is None else np.random.default_rng(1).choice([0.5, 1.0, 3.25], 160)
    model = with_odds(table, weights, likelihood, min_count=least)
    with unheard():
        scores = model.leave_one_out(table, weight=weights)
        for i in range(0, 160, 13):
            one = pick(table, [i])
            left = model.forget(one, weight=None if weights is None else weights[[i]])
            np.testing.assert_allclose(scores.probabilities[i : i + 1], left.predict_proba(one), atol=1e-9)


def test_a_weight_is_a_number_of_rows_in_odds_too(table: Table) -> None:
    """Learned with weight 2 is learned twice, and can be forgotten so."""
    once = with_odds(table, None)
    new = {"text": ["win a free train and a gold lunch, lunch, lunch"], "size": [1.0], "kind": ["ham"]}
    twice = once.update(new).update(new)
    heavy = once.update(new, weight=[2.0])
    with unheard():
        np.testing.assert_allclose(heavy.predict_proba(table), twice.predict_proba(table), atol=1e-13)
        back = heavy.forget(new).forget(new)
        np.testing.assert_allclose(back.predict_proba(table), once.predict_proba(table), atol=1e-13)
    pairs = Derived("pairs", "text")
    assert back.seen.schema[pairs].values == once.seen.schema[pairs].values


def test_slips_are_part_of_the_reasons(table: Table) -> None:
    """Prior and weights add up to the log-odds, which no text can carry beyond what a slip leaves."""
    model = with_odds(table, None)
    text = {"text": "win free gold " * 50, "size": 9.0}
    with unheard():
        reasons = model.explain(text, of="spam", against="ham")
        (shares,) = model.predict_proba([text])
    assert reasons.prior + sum(reasons.weights.values()) == pytest.approx(np.log(shares[1] / shares[0]), abs=1e-9)
    assert reasons.weights["allowance for label noise"] < 0
    assert shares[0] >= 0.02 * np.exp(model.terms.log_prior[0]) * (1 - 1e-12)


def drawn(tells: str, kind: Any) -> list[str]:
    """Texts of two kinds, told by which words aren't there, by how often one comes, or by whether one comes at all."""
    rng, vocabulary, texts = np.random.default_rng(0), np.array([f"w{i}" for i in range(40)]), []
    for k in kind:
        words = rng.choice(vocabulary, 6, replace=False).tolist()
        if tells == "absence":
            words += [word for word in ("dear", "sir", "regards") if rng.random() < (0.9 if k else 0.5)]
        elif tells == "number":
            words += ["go"] * (1 + rng.poisson(4 if k else 1))
        else:
            words += ["go"] * ((rng.random() < (0.7 if k else 0.1)) * rng.choice([1, 5, 25]))
        texts.append(" ".join(rng.permutation(words)))
    return texts


@pytest.mark.parametrize(
    ("tells", "likelihoods"), [("absence", ["presences"]), ("number", ["words"]), ("presence", ["binary", "presences"])]
)
def test_the_likelihood_is_chosen_by_what_it_foresees(tells: str, likelihoods: list[str]) -> None:
    """Beside the odds, the right one of four likelihoods is chosen, and beats plain words on left-out rows."""
    kind = np.random.default_rng(1).integers(0, 2, 400)
    table = {"text": drawn(tells, kind), "kind": kind}
    plain = credo.NaiveBayes(kinds={"text": credo.Text()}).fit(table, "kind")
    tuned = plain.tune(table)
    assert tuned.tuning is not None
    assert tuned.tuning.forms["text"][0] in likelihoods
    assert tuned.leave_one_out(table).log_loss < plain.leave_one_out(table).log_loss - 0.02


def test_pairs_alone_can_tell() -> None:
    """The same words in another order."""
    rng = np.random.default_rng(2)
    kind = rng.integers(0, 2, 200)
    texts = [
        ("not good but bad" if k else "not bad but good") + f" {'so it goes'[: rng.integers(1, 10)]}" for k in kind
    ]
    model = credo.learn({"text": texts, "kind": kind}, target="kind", kinds={"text": credo.Text()})
    assert "pairs" in model.tuning.forms["text"]
    assert model.report.scores.accuracy == 1.0
    assert model.predict({"text": ["not bad but good", "not good but bad"]}).tolist() == [0, 1]
    assert any(" " in spoken.word for spoken in model.explain({"text": "not good but bad"}).words["text"])


@pytest.mark.parametrize("likelihood", ["words", "binary", "logs", "presences"])
def test_views_add(table: Table, likelihood: str) -> None:
    """Sums of all views are exact: in any order, merged, and after forgetting."""
    tuned = with_odds(table, None, likelihood)
    first, second = pick(table, slice(0, 70)), pick(table, slice(70, 160))
    one = changed(tuned, evidence=None).update(first)
    both = one + changed(tuned, evidence=None).update(second)
    backwards = changed(tuned, evidence=None).update(pick(table, np.arange(160)[::-1]))
    for other in (both, backwards, both.update(first).forget(first)):
        np.testing.assert_allclose(other.predict_proba(table), tuned.predict_proba(table), atol=1e-12)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"words": "gaussian"}, "no such words, 'gaussian'"),
        ({"ngrams": 3}, "ngrams must be 1 or 2"),
        ({"min_count": 0}, "min_count must be a whole number of at least 1"),
        ({"drop_most_common": -1}, "drop_most_common must be a whole number of at least 0"),
        ({"max_words": 0}, "max_words must be a whole number of at least 1"),
        ({"stop_words": "the"}, "stop_words are several words"),
        ({"lowercase": "yes"}, "lowercase must be True or False, but is 'yes'"),
        ({"hashed": 0}, "hashed must be True, False or a number of buckets"),
        ({"hashed": 2**40}, "hashed must be True, False or a number of buckets"),
        ({"token_pattern": "("}, "isn't a regular expression"),
    ],
    ids=str,
)
def test_ways_to_read_that_are_none(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(CredoError, match=says):
        credo.Text(**wrong)


def test_nothing_known_leaves_the_classes_as_they_are() -> None:
    """Biases weigh against what texts say: of a text that is missing they say nothing."""
    kind = (np.random.default_rng(4).random(300) < 0.2).astype(int)
    table = {"text": np.array(drawn("absence", kind), dtype=object), "kind": kind}
    model = credo.learn(table, target="kind", kinds={"text": credo.Text()})
    assert model.tuning is not None
    assert max(map(abs, model.tuning.biases)) > 0.05
    shares = np.exp(model.log_class_prior(model.class_weights))
    for text in ("", None):
        np.testing.assert_allclose(model.predict_proba([{"text": text}])[0], shares, rtol=1e-12)
        np.testing.assert_allclose([*model.live().predict_proba({"text": text}).values()], shares, rtol=1e-12)
    assert model.explain({"text": None}, of=1, against=0).log_odds == pytest.approx(np.log(shares[1] / shares[0]))
    known = model.predict_proba([{"text": "dear w1"}, {"text": None}, {"text": "dear w1"}])
    np.testing.assert_array_equal(known[0], known[2])
    np.testing.assert_allclose(known[1], shares, rtol=1e-12)


def test_digits_are_texts_where_texts_are_asked_for(tmp_path: Any) -> None:
    (tmp_path / "numbers.csv").write_text("text,kind\n12345,a\n678,b\n12345,a\n678,b\n")
    model = credo.NaiveBayes(kinds={"text": credo.Text()}).fit(str(tmp_path / "numbers.csv"), "kind")
    assert model.seen.schema["text"].values == ("12345", "678")
    assert model.predict({"text": [678, 12345]}).tolist() == ["b", "a"]
    live = model.live()
    assert live.predict({"text": 678}) == live.predict("678") == "b"
    with pytest.raises(CredoError, match="a row is a dict"):
        credo.NaiveBayes().fit({"x": [1.5, 2.5, 3.5], "y": ["a", "b", "a"]}, "y").live().predict("678")


def test_a_long_text_is_read_live_as_any_other() -> None:
    """Beyond what Python cuts sooner than kernels do."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 40)
    table = {"x": written(rng, kind), "kind": kind}
    model = credo.NaiveBayes(kinds={"x": credo.Text()}).fit(table, "kind")
    long = " ".join(table["x"].tolist() * 400)
    assert len(long) > 1 << 16
    live = model.live()
    with unheard():
        np.testing.assert_allclose([*live.predict_proba({"x": long}).values()], model.predict_proba([{"x": long}])[0])
        live.observe({"x": long, "kind": 1})
        np.testing.assert_allclose(
            [*live.predict_proba({"x": long}).values()], live.freeze().predict_proba([{"x": long}])[0]
        )


def test_a_class_that_comes_after_tuning_is_noticed(table: Table) -> None:
    model = credo.NaiveBayes(kinds={"text": credo.Text()}).fit(table, "kind").tune(table)
    row: dict[str, list[Any]] = {"text": ["a new thing"], "size": [1.0], "kind": ["phish"]}
    with pytest.warns(Notice, match="column 'kind': 'phish' comes after tuning, which has no bias for it: tune"):
        later = model.update(row)
    assert later.update(row).n == model.n + 2  # which is no news any more
    with pytest.warns(Notice, match="'phish' comes after tuning"):
        model.live().observe({name: cells[0] for name, cells in row.items()})


def test_words_beyond_those_shown_are_counted(table: Table) -> None:
    model = credo.NaiveBayes(kinds={"text": credo.Text()}).fit(table, "kind")
    found = model.explain({"text": " ".join(table["text"][:3]), "size": 1.0})
    spoken = found.words["text"]
    assert f"{sum(each.weight for each in spoken[8:]):+8.3f}  {len(spoken) - 8} more words" in repr(found)


def test_a_class_with_few_documents_has_more_label_noise(table: Table) -> None:
    texts = {"text": [*table["text"], "a rare thing"], "kind": [*table["kind"], "rare"]}
    model = credo.NaiveBayes(kinds={"text": credo.Text()}).fit(texts, "kind").tune(texts)
    assert model.tuning is not None
    assert 0 < model.tuning.label_noise < 0.25
    shares = model.class_weights / model.n
    rare = list(model.classes).index("rare")
    assert (model.predict_proba(texts)[:, rare] >= 0.25 * shares[rare]).all()  # 1/(2(n + 1)) of them are like no other
    many = model.update({"text": ["a rare thing"] * 99, "kind": ["rare"] * 99})
    assert many.predict_proba(texts)[:, rare].min() < 0.1 * many.class_weights[rare] / many.n


def test_hashed_words_are_named_as_they_stand_in_the_text(table: Table) -> None:
    model = credo.NaiveBayes(kinds={"text": credo.Text(hashed=2)}).fit(table, "kind")  # so that words share a bucket
    found = model.explain({"text": "Win FREE gold, free gold!", "size": 1.0}).words["text"]
    assert sorted(word for each in found for word in each.word.split(" / ")) == ["FREE", "Win", "gold"]
    assert sum(len(each.places) for each in found) == 5
