"""Log-likelihoods of a few independent numbers by NumPy: faster than plain Python until the kernel is compiled."""

from __future__ import annotations

from credo.numerics.exact import Array

FEW_NORMALS = 2**18  # rows x columns x classes, up to which NumPy is faster


def add_normals_of_few(x: Array, shift: Array, centre: Array, half: Array, constant: Array, out: Array) -> None:
    """out (rows, classes) += Σⱼ constantₖⱼ - halfₖⱼ (xᵢⱼ - shiftⱼ - centreₖⱼ)²; no cell is NaN.

    The same to the last bit as the kernel `add_normals`, which adds four columns at a time.
    """
    away = (x - shift).T[:, :, None] - centre.T[:, None]  # (columns, rows, classes)
    squares = half.T[:, None] * away * away
    total = sum(constant.T, start=0.0 * constant[:, 0])[None]
    columns = len(squares)
    fours = columns // 4 * 4
    for j in range(0, fours, 4):
        total = total - ((squares[j] + squares[j + 1]) + (squares[j + 2] + squares[j + 3]))
    for j in range(fours, columns):
        total = total - squares[j]
    out += total
