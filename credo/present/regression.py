"""Regressions in a few lines, and as HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from credo.errors import EvidenceError, counted

if TYPE_CHECKING:
    from credo.models.regression.linear import LinearRegression

SHOWN = 12  # terms of a description


def described(model: LinearRegression) -> str:
    """How the target was explained, the noise about the line, and the terms that matter most."""
    if model.evidence is None:
        return f"{_name(model)}, not fitted yet"
    head = f"{_name(model)} of {model.target}, after {counted(model.n, 'row')}"
    try:
        return "\n".join([head, *_lines(model)])
    except EvidenceError as unknown:
        return f"{head}\n  {unknown}"


def _name(model: LinearRegression) -> str:
    return "LinearRegression" + (" with Student-t noise" if model.noise == "student" else "")


def _lines(model: LinearRegression) -> list[str]:
    table = model.parameters()
    terms, weights, low, high = (table[name].to_pylist() for name in ("term", "weight", "low", "high"))
    found = [f"  noise: {_noise(model)}{_prior(model)}"]
    found.append(f"  {weights[0]:>12.5g}  ({low[0]:.5g} to {high[0]:.5g})  {terms[0]}")
    order = strongest(model)
    found += [f"  {weights[i]:>+12.5g}  ({low[i]:.5g} to {high[i]:.5g})  {terms[i]}" for i in order[:SHOWN]]
    if len(order) > SHOWN:
        found.append(f"  ... and {counted(len(order) - SHOWN, 'more term')}")
    return found


def _noise(model: LinearRegression) -> str:
    scale = f"{np.sqrt(model.fitted.noise):.4g}"
    if model.robust is None:
        return f"standard deviation {scale}"
    return f"Student-t with {model.robust.degrees:.3g} degrees of freedom, scale {scale}"


def strongest(model: LinearRegression) -> list[int]:
    """The lines of the table of parameters, by how far the terms move predictions."""
    line = model.fitted
    weights = np.abs(model.parameters()["weight"].to_numpy()[1:]) * line.basis.scales
    kept = np.isin(np.arange(len(weights)), line.basis.kept)
    order = np.argsort(-np.where(kept, weights, -1.0), kind="stable")
    return [int(i) + 1 for i in order if kept[i]]


def _prior(model: LinearRegression) -> str:
    ridge = model.fitted.ridge
    if ridge is None:
        return f"; prior {model.given}"
    if ridge == 0:
        return "; least squares"
    how = "by evidence" if model.ridge == "evidence" else "given"
    return f"; ridge {ridge:.3g} ({how})"


def regression_html(model: LinearRegression) -> str:
    from html import escape

    from credo.present.html import table_html

    if model.evidence is None:
        return f"<pre>{escape(repr(model))}</pre>"
    try:
        return table_html(model.parameters(), repr(model).splitlines()[0])
    except EvidenceError:
        return f"<pre>{escape(repr(model))}</pre>"
