"""`import credo` and `credo --help` are instant: nothing heavy is loaded until it is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("numpy", "numba", "pyarrow", "scipy", "duckdb", "rich", "matplotlib", "pandas", "polars", "sklearn")

LOADED = f"""
import sys
{{statement}}
print(sorted(set(name.partition(".")[0] for name in sys.modules) & set({HEAVY})))
"""


def loaded_by(statement: str) -> str:
    code = LOADED.format(statement=statement)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


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
        "from credo.cli import main; main(['explain', '--help'], standalone_mode=False)",
        "from credo.cli import main; main(['update', '--help'], standalone_mode=False)",
        "from credo.cli import main; main(['forget', '--help'], standalone_mode=False)",
        "from credo.cli import main; main(['merge', '--help'], standalone_mode=False)",
        "from credo import CredoError",
    ],
)
def test_nothing_heavy_is_loaded(statement: str) -> None:
    assert loaded_by(statement).endswith("[]\n")


def test_help_loads_few_modules() -> None:
    """Loading them is what takes the time."""
    code = "import sys; from credo.cli import main; main(['--help'], standalone_mode=False); print(len(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert int(shown.splitlines()[-1]) < 200
