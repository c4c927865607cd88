"""Code that does the same as the page, to be copied into Python or a terminal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from shlex import quote
from typing import Any

from credo.explorer.screens.screen import Subject

PLAIN_WORD = re.compile(r"[\w.+/-]+")
KEYWORDS = {"in", "do", "P", "E", "argmax", "explain"}


def called(subject: Subject) -> tuple[str, str]:
    """The model in Python, and its file: credo's own, or one that the model's class reads."""
    if subject.path is None:
        return "model", "model.credo"
    if subject.path.lower().endswith(".credo"):
        return f"credo.load({subject.path!r})", subject.path
    return f"credo.{type(subject.model).__name__}.read({subject.path!r})", subject.path


def question(file: str, asked: str, done: Mapping[str, Any], seen: Mapping[str, Any]) -> str:
    """credo ask, with a question in credo's language."""
    findings = [_finding(name, value) for name, value in seen.items()]
    if done:
        findings.append(f"do({', '.join(f'{word(name)}={word(value)}' for name, value in done.items())})")
    inside = f"{asked[:-1]} | {', '.join(findings)})" if findings else asked
    return f"credo ask {quote(file)} {quote(inside)}"


def call(verb: str, *given: object) -> str:
    """A call in Python, without trailing empty arguments."""
    while given and given[-1] is None:
        given = given[:-1]
    return f"{verb}({', '.join(map(repr, given))})"


def _finding(name: str, value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{word(name)}={{{', '.join(f'{word(each)}: {p:.4g}' for each, p in value.items())}}}"
    if isinstance(value, tuple):  # an interval
        low, high = (None if end is None else f"{end:g}" for end in value)
        return f"{word(name)} < {high}" if low is None else f"{word(name)} > {low}{_below(name, high)}"
    if isinstance(value, list):
        return f"{word(name)} in {{{', '.join(map(word, value))}}}"
    return f"{word(name)}={word(value)}"


def _below(name: str, high: str | None) -> str:
    return "" if high is None else f", {word(name)} < {high}"


def word(value: object) -> str:
    """A word of the question language, quoted if necessary."""
    text = str(value)
    if PLAIN_WORD.fullmatch(text) and text not in KEYWORDS:
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
