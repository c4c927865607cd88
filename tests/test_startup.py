"""`import credo` and `credo --help` are instant: nothing heavy is loaded until it is used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("numpy", "numba", "pyarrow", "scipy", "duckdb", "rich", "matplotlib", "pandas", "polars", "sklearn")

LOADED = f"""
import sys
{{statement}}
print(sorted(set(name.partition(".")[0] for name in sys.modules) & set({HEAVY})))
"""


def printed_by(code: str) -> str:
    """What a fresh interpreter prints."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def loaded_by(statement: str) -> str:
    return printed_by(LOADED.format(statement=statement))


@pytest.mark.parametrize(
    "statement",
    [
        "import credo",
        "import credo; dir(credo)",
        "from credo.cli import main",
        "from credo.cli import main; main(['--help'], standalone_mode=False)",
        "from credo.cli import main; main(['estimate', '--help'], standalone_mode=False)",
        "from credo.cli import main; main(['show', '--help'], standalone_mode=False)",
        "from credo.cli import main; main(['ask', '--help'], standalone_mode=False)",
        "from credo.cli import main; main(['convert', '--help'], standalone_mode=False)",
        "from credo.cli import main; main(['demo', '--help'], standalone_mode=False)",
        "from credo.cli import main; main(['learn', '--help'], standalone_mode=False)",
        "from credo.cli import main; main(['predict', '--help'], standalone_mode=False)",
        "from credo.cli import main; main(['sample', '--help'], standalone_mode=False)",
        "from credo.cli import main; main(['structure', '--help'], standalone_mode=False)",
        "from credo.cli import main; main(['impute', '--help'], standalone_mode=False)",
        "from credo.cli import main; main(['explain', '--help'], standalone_mode=False)",
        "from credo.cli import main; main(['update', '--help'], standalone_mode=False)",
        "from credo.cli import main; main(['forget', '--help'], standalone_mode=False)",
        "from credo.cli import main; main(['merge', '--help'], standalone_mode=False)",
        "from credo import CredoError",
    ],
)
def test_nothing_heavy_is_loaded(statement: str) -> None:
    assert loaded_by(statement).endswith("[]\n")


@pytest.mark.parametrize(
    "question",
    [
        "net.query('LungCancer', {'XRay': 'yes'})",
        "net.marginals({'Dyspnoea': 'yes'})",
        "net.most_probable(given={'XRay': 'yes'})",
        "net.log_probability({'XRay': 'yes', 'Smoking': {'yes': 0.3, 'no': 1}})",
        "net.explain('LungCancer', {'XRay': 'yes', 'Smoking': 'yes'})",
        "credo.ask(net, 'P(LungCancer | XRay=yes)')",
        "credo.ask(net, 'argmax P(*)')",
        "large.marginals({'x3': 'yes'})",
        "large.query(['x7', 'x9'], {'x3': {'yes': 0.2, 'no': 1}})",
        "large.most_probable(['x7', 'x9'], {'x3': 'yes'})",
        "credo.ask(large, 'P(x7 | x3=yes)')",
    ],
)
def test_the_first_questions_need_no_compiled_kernels(question: str) -> None:
    """Neither in a small network, nor in one that no single table holds; nor what other models need."""
    large = (
        "arrows = {f'x{i}': [f'x{j}' for j in (i - 1, i - 3) if j >= 0] for i in range(40)}; "
        "tables = {name: 0.3 if not above else __import__('numpy').full([2] * len(above), 0.3) "
        "for name, above in arrows.items()}; large = credo.Network(arrows, tables)"
    )
    found = loaded_by(f"import credo; net = credo.Network.example('asia'); {large}; {question}")
    assert found.endswith("['numpy']\n")


SAMPLES = Path(__file__).parents[1] / "credo" / "samples"
TEXTS = """
import credo
texts = [f"{'rain' if i % 2 else 'sun'} and word{i % 7} word{i % 11} again" for i in range(60)]
credo.learn(texts, ["wet" if i % 2 else "dry" for i in range(60)])
"""


@pytest.mark.parametrize(
    "statement",
    [
        f"from credo.cli import main; main(['estimate', r'{SAMPLES / 'ads.csv'}', '-c', 'converted', '-b', 'ad'], "
        "standalone_mode=False)",
        f"import credo; credo.NaiveBayes().fit(r'{SAMPLES / 'pumps.csv'}', target='fault')",
        "import credo; net = credo.Network.example('asia'); rows = {'XRay': ['yes', None] * 20}; "
        "net.predict_proba('Smoking', rows); net.log_prob(rows); net.impute(rows)",
    ],
    ids=["estimate", "table", "rows of a network"],
)
def test_small_work_needs_no_numba(statement: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is compiled for it, so that the first answer doesn't wait."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert "'numba'" not in loaded_by(statement).splitlines()[-1]


def test_few_texts_need_neither_numba_nor_pandas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow isn't asked for what would import pandas."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert loaded_by(TEXTS).splitlines()[-1] == "['numpy', 'pyarrow', 'scipy']"


def test_help_loads_few_modules() -> None:
    """Loading them is what takes the time."""
    code = "import sys; from credo.cli import main; main(['--help'], standalone_mode=False); print(len(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert int(shown.splitlines()[-1]) < 200


def test_a_process_of_the_command_line_needs_no_pandas(tmp_path: Path) -> None:
    """Arrow would import it to see whether a list is a Series."""
    table = tmp_path / "a.csv"
    table.write_text("x,y\n" + "".join(f"{i % 7}.5,{'ab'[i % 2]}\n" for i in range(40)))
    statement = f"""
from credo.cli import main
sys.argv = ["credo", "learn", {str(table)!r}, "--target", "y"]
try:
    main()
except SystemExit as end:
    assert not end.code"""
    assert "pandas" not in loaded_by(statement).splitlines()[-1]


def test_the_blas_that_scipy_loads_later_is_limited() -> None:
    """NumPy and SciPy have one each; threads of both would compete with credo's."""
    code = (
        "from credo.engines.local import one_blas_thread, small_matrices\n"
        "from threadpoolctl import threadpool_info\n"
        "import numpy\n"
        "with one_blas_thread(): pass\n"
        "with small_matrices(): found = threadpool_info()\n"
        "print(*(each['num_threads'] for each in found if each['user_api'] == 'blas'))"
    )
    assert set(printed_by(code).split()) == {"1"}


def test_the_limit_of_blas_ends_with_the_last_block() -> None:
    """Blocks of two threads overlap: each restoring what it found would leave one thread for good."""
    code = (
        "from credo.engines.local import small_matrices\n"
        "from threadpoolctl import threadpool_info, threadpool_limits\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "import numpy, scipy.linalg\n"
        "def threads(): return [each['num_threads'] for each in threadpool_info() if each['user_api'] == 'blas']\n"
        "threadpool_limits(2, 'blas')\n"
        "before, one, other, pool = threads(), small_matrices(), small_matrices(), ThreadPoolExecutor(1)\n"
        "one.__enter__(); pool.submit(other.__enter__).result()\n"
        "one.__exit__(None, None, None); inside = threads()\n"
        "pool.submit(other.__exit__, None, None, None).result(); print(before == threads(), {*inside})"
    )
    assert printed_by(code).split() == ["True", "{1}"]
