"""Expected family counts against enumeration of all cases, and against the gradient of the log-likelihood."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from credo import engines
from credo._kernels.networks.propagation import add_families
from credo.core.evidence import Evidence
from credo.core.labels import Label
from credo.errors import EvidenceError
from credo.networks.factor import Factor
from credo.networks.inference import expectations, junction
from credo.networks.inference import log_messages as logarithms
from credo.networks.inference.coding import CodedRows
from credo.networks.network import Network
from tests.networks import joint, networks

SIZE = 6  # rows


def rows_of(net: Network, seed: int, missing: float = 0.4) -> CodedRows:
    """Rows that are possible, with cells missing at random, the first row with none and the last with all, weighted."""
    random = np.random.default_rng(seed)
    table = net.sample(SIZE, seed=seed)
    codes = np.array([table.column(name).combine_chunks().indices.to_numpy() for name in net.variables], dtype=np.int32)
    lost = random.random(codes.shape) < missing
    lost[:, 0], lost[:, -1] = False, True
    codes[lost] = -1
    return CodedRows(0, codes, random.integers(1, 4, SIZE).astype(float))


def cells(net: Network, rows: CodedRows, r: int) -> dict[str, Any]:
    known = zip(net.variables, rows.codes[:, r].tolist(), strict=True)
    return {name: net.states[name][code] for name, code in known if code >= 0}


def enumerated(net: Network, rows: CodedRows) -> tuple[dict[str, Any], float]:
    """Σ weight · P(family | row), from the product of all factors."""
    counts: dict[str, Any] = {name: np.zeros(table.shape) for name, table in net.tables.items()}
    log_likelihood = 0.0
    for r, weight in enumerate(rows.weight.tolist()):
        whole = joint(net, cells(net, rows, r))
        total = whole.table.sum()
        log_likelihood += weight * np.log(total)
        for factor in net.factors:
            others = [name for name in whole.scope if name not in factor.scope]
            counts[factor.scope[-1]] += weight * whole.sum_out(others).over(factor.scope).table / total
    return counts, log_likelihood


def check(net: Network, rows: CodedRows, found: tuple[Evidence, float]) -> None:
    evidence, log_likelihood = found
    counts, expected = enumerated(net, rows)
    assert log_likelihood == pytest.approx(expected, rel=1e-12, abs=1e-12)
    for name, table in counts.items():
        assert evidence.parts[Label("column", name)].axes == (*net.parents[name], name)
        assert evidence[Label("column", name)].n.value == pytest.approx(table, rel=1e-11, abs=1e-13)


@settings(max_examples=150, deadline=None)
@given(networks(), st.integers(0, 2**31))
def test_rows_with_any_cells_missing(net: Network, seed: int) -> None:
    rows = rows_of(net, seed)
    check(net, rows, net.expect(rows))


@settings(max_examples=60, deadline=None)
@given(networks(), st.integers(0, 2**31))
def test_a_tree_for_each_pattern_of_missing_cells(net: Network, seed: int) -> None:
    """As for rows that visit too many cells of the tree for any evidence."""
    rows = rows_of(net, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expectations, "KEPT_PRODUCT", -1)
        assert net.expectations.tree is None
        check(net, rows, net.expect(rows))


@settings(max_examples=60, deadline=None)
@given(networks(), st.integers(0, 2**31))
def test_some_rows_visit_more_cells_than_the_budget(net: Network, seed: int) -> None:
    rows = rows_of(net, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expectations, "MOST_VISITED_CELLS", 2.0 * len(net.variables))
        check(net, rows, net.expect(rows))


@settings(max_examples=60, deadline=None)
@given(networks(), st.integers(0, 2**31))
def test_messages_in_logarithms(net: Network, seed: int) -> None:
    """As for rows whose messages would underflow."""
    rows = rows_of(net, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expectations, "KEPT_PRODUCT", -1)
        patch.setattr(junction, "propagate", lambda *_: np.nan)
        patch.setattr(junction.Tree, "_prepared", property(lambda tree: tree._bare))
        check(net, rows, net.expect(rows))


@settings(max_examples=40, deadline=None)
@given(networks(zeros=False), st.integers(0, 2**31))
def test_the_gradient_of_the_log_likelihood(net: Network, seed: int) -> None:
    """∂ log P(rows) / ∂θ = Σ P(node, parents | row) / θ, of each table entry by itself: the lectures' formula."""
    rows, random = rows_of(net, seed), np.random.default_rng(seed)
    evidence, _ = net.expect(rows)
    name = net.variables[random.integers(len(net.variables))]
    at = tuple(random.integers(size) for size in net.tables[name].shape)
    theta, step = net.tables[name][at], 1e-5

    def log_likelihood(change: float) -> float:
        """With that one entry multiplied by 1 + change, and none scaled to sum to 1."""
        ratio = np.ones(net.tables[name].shape)
        ratio[at] += change
        changed = Factor((*net.parents[name], name), ratio)
        totals = [(joint(net, cells(net, rows, r)) * changed).table.sum() for r in range(rows.rows)]
        return float(rows.weight @ np.log(totals))

    slope = (log_likelihood(step) - log_likelihood(-step)) / (2 * step * theta)
    assert evidence[Label("column", name)].n.value[at] / theta == pytest.approx(slope, rel=1e-4, abs=1e-4 / theta)


def test_the_number_of_threads_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    net = Network.example("asia")
    lost = np.random.default_rng(1).random((8, 5000)) < 0.3
    table = net.sample(5000, seed=1)
    codes = np.array([table.column(name).combine_chunks().indices.to_numpy() for name in net.variables], dtype=np.int32)
    rows = CodedRows(0, np.where(lost, -1, codes), np.ones(5000))
    sums = []
    for threads in ("1", "4"):
        monkeypatch.setenv("CREDO_THREADS", threads)
        parts = engines.Local().map(net.expect, rows.chunks(expectations.ROWS_PER_CHUNK))
        evidences, logs = zip(*parts, strict=True)
        assert len(evidences) == 5
        sums.append((reduce(add, evidences), sum(logs)))
    (one, log_one), (four, log_four) = sums
    labels = [Label("column", name) for name in net.variables]
    assert log_one == log_four
    assert all(np.array_equal(one[label].n.value, four[label].n.value) for label in labels)
    whole, log_whole = net.expect(rows)
    assert log_whole == pytest.approx(log_one, rel=1e-12)
    assert all(whole[label].n.value == pytest.approx(one[label].n.value, rel=1e-10) for label in labels)


def test_no_rows_at_all() -> None:
    net = Network.example("asia")
    evidence, log_likelihood = net.expect(CodedRows(0, np.empty((8, 0), dtype=np.int32), np.empty(0)))
    assert log_likelihood == 0.0
    assert all(evidence[Label("column", name)].n.value.sum() == 0.0 for name in net.variables)


def test_an_impossible_row_is_named() -> None:
    net = Network("A -> B", {"A": 0.5, "B": {"yes": 1.0, "no": 0.5}})
    rows = [*net.coded({"A": ["yes", "yes", None], "B": ["yes", "no", "no"]})]
    with pytest.raises(EvidenceError, match=r"row 2: .*A = yes and B = no can't be true together"):
        net.expect(rows[0])
    weightless = CodedRows(0, rows[0].codes, np.array([1.0, 0.0, 1.0]))
    with pytest.raises(EvidenceError, match="row 2"):
        net.expect(CodedRows(0, rows[0].codes, np.array([1.0, 1e-300, 1.0])))
    assert net.expect(weightless)[1] == pytest.approx(np.log(0.5) + np.log(0.25))


def test_products_too_small_for_a_float() -> None:
    """400 findings for and against a hidden hub: each of its states has a likelihood of about 1e-400."""
    names = [f"x{i}" for i in range(400)]
    tables: dict[str, Any] = {"hub": 0.5, **{name: [[0.1, 0.9], [0.1, 0.9]] for name in names}}
    net = Network({"hub": (), **dict.fromkeys(names, ("hub",))}, {**tables, "x0": [[0.1, 0.9], [0.2, 0.8]]})
    codes = np.zeros((401, 1), dtype=np.int32)
    codes[0] = -1
    evidence, log_likelihood = net.expect(CodedRows(0, codes, np.ones(1)))
    assert log_likelihood == pytest.approx(np.log(0.5 * 0.3) + 399 * np.log(0.1))
    assert evidence[Label("column", "hub")].n.value == pytest.approx([1 / 3, 2 / 3])
    assert evidence[Label("column", "x7")].n.value == pytest.approx(np.array([[1 / 3, 0], [2 / 3, 0]]))


def test_new_values_compile_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """An M-step's tables go into the tree that is there: neither triangulated nor assembled again."""
    arrows = {f"x{i}": [f"x{j}" for j in (i - 1, i - 3) if j >= 0] for i in range(30)}
    tables = {name: np.full([2] * len(above), 0.3) if above else 0.3 for name, above in arrows.items()}
    net = Network(arrows, tables)
    rows, given = rows_of(net, 3), {"x3": "yes", "x17": "no"}
    net.expect(rows)
    net.trees.joint(net._findings(given).codes, np.empty(0), [20])

    def refused(*_: Any) -> Any:
        raise AssertionError("compiled again")

    monkeypatch.setattr(junction, "triangulate", refused)
    monkeypatch.setattr(junction, "assemble", refused)
    random = np.random.default_rng(0)
    other = net.with_tables({name: random.dirichlet([1, 1], table.shape[:-1]) for name, table in net.tables.items()})
    evidence, log_likelihood = other.expect(rows)
    found = other.trees.joint(other._findings(given).codes, np.empty(0), [20])[0]
    monkeypatch.undo()
    fresh = Network(arrows, other.tables)
    expected, log_expected = fresh.expect(rows)
    assert log_likelihood == log_expected
    labels = [Label("column", name) for name in arrows]
    assert all(np.array_equal(evidence[label].n.value, expected[label].n.value) for label in labels)
    assert found == pytest.approx(np.array([*fresh.query("x20", given).values()]))


def test_logarithms_calibrate_all_cliques() -> None:
    """Each clique's table is P(clique | evidence), and sums to 1."""
    net = Network.example("asia")
    tree = net.trees._whole_tree
    codes = np.full(8, -1)
    codes[[1, 6]] = 0
    logs = np.zeros(tree.cells)
    found = logarithms.calibrate(codes, tree, logs)
    counts = [np.zeros(len(net.potentials.factors.values)) for _ in range(2)]
    assert tree.expect(codes, 1.0, counts[0]) == pytest.approx(found)
    add_families(codes, 1.0, tree._prepared, logs, counts[1])
    assert counts[1] == pytest.approx(counts[0])
