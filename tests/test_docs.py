"""Every snippet in README.md and docs/ runs, one namespace a page, and prints what the page says it prints."""

from __future__ import annotations

import ast
import doctest
import itertools
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import click
import pytest

from credo.errors import Notice

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#]+)")
COMMAND = re.compile(r"^\$ credo ([a-z]\S*)", re.MULTILINE)


class Snippet(NamedTuple):
    language: str
    code: str
    line: int  # of the page, where the code starts, from 0


def snippets(page: Path) -> Iterator[Snippet]:
    text = page.read_text(encoding="utf-8")
    for fence in FENCE.finditer(text):
        yield Snippet(fence[2], dedent(fence[3]), text.count("\n", 0, fence.start(3)))


def examples(page: Path) -> list[Snippet]:
    return [snippet for snippet in snippets(page) if snippet.language == "python"]


def commands(page: Path) -> list[str]:
    consoles = (snippet.code for snippet in snippets(page) if snippet.language == "console")
    return [name for code in consoles for name in COMMAND.findall(code)]


def run(page: Path, snippet: Snippet, names: dict[str, Any]) -> str:
    """What went otherwise than the page says; empty if all went well."""
    code = as_doctest(snippet.code) if page.name == "README.md" else snippet.code
    if ">>>" not in code:
        exec(compile("\n" * snippet.line + code, page.name, "exec"), names)
        return ""
    said: list[str] = []
    test = doctest.DocTestParser().get_doctest(code, names, page.name, str(page), snippet.line)
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append, clear_globs=False)
    names.update(test.globs)
    return "".join(said)


def as_doctest(code: str) -> str:
    """Statements without prompts, which can be pasted; what each prints is in the comments below it."""
    lines, found = code.splitlines(), list[str]()
    for statement in ast.parse(code).body:
        end = statement.end_lineno or statement.lineno
        first, *rest = lines[statement.lineno - 1 : end]
        printed = itertools.takewhile(lambda line: line.startswith("# "), lines[end:])
        found += [f">>> {first}", *(f"... {line}" for line in rest), *(line[2:] for line in printed)]
    return "\n".join(found) + "\n"


def page_name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_snippets_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if page.name == "scale.md":
        pytest.importorskip("dask.dataframe", reason="Dask isn't installed: pip install 'credo-bayes[dask]'")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CREDO_THREADS", raising=False)
    warnings.simplefilter("ignore", Notice)  # what a reader sees on stderr beside the snippet's output
    names: dict[str, Any] = {"__name__": "__main__"}
    failures = [run(page, snippet, names) for snippet in examples(page)]
    assert not any(failures), "".join(failures)


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_a_page_with_words_has_snippets(page: Path) -> None:
    assert examples(page) or not page.read_text(encoding="utf-8").strip()


def test_docs_are_found() -> None:
    assert {page.stem for page in PAGES} >= {"README", "index", "lectures", "estimation", "any-likelihood", "data"}
    assert sum(len(examples(page)) for page in PAGES if page.parent.name == "docs") >= 60


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_fences_say_what_they_hold(page: Path) -> None:
    """python and console are checked, text is only shown: `py`, `pycon` or `sh` would slip through."""
    assert {snippet.language for snippet in snippets(page)} <= {"python", "console", "text"}
    assert page.read_text(encoding="utf-8").count("```") == 2 * len(list(snippets(page)))


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_snippets_need_nothing_that_a_plain_install_lacks(page: Path) -> None:
    code = "\n".join(snippet.code for snippet in examples(page))
    assert not re.search(r"\b(import|from) (pandas|polars|IPython)\b|to_pandas\(", code)


def test_the_readme_is_pasted_as_it_stands() -> None:
    """IPython takes prompts away, but not what follows them."""
    assert not any(">>>" in snippet.code for snippet in examples(ROOT / "README.md"))


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_lead_somewhere(page: Path) -> None:
    targets = LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8")))
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_commands_exist(page: Path) -> None:
    from credo.cli import main

    context = click.Context(main)
    assert [name for name in commands(page) if main.get_command(context, name) is None] == []
