"""What every plot() returns: a Matplotlib figure that shows itself in a notebook. Imported where something is drawn."""

from __future__ import annotations

import io

from matplotlib.figure import Figure as MatplotlibFigure

DPI = 120  # of the picture in a notebook


class Figure(MatplotlibFigure):
    """A Matplotlib figure: `savefig` writes it, `axes` are its panels, and a notebook shows it.

    Without pyplot: a notebook's kernel knows how to show figures only once `%matplotlib inline` was run, and pyplot
    keeps all figures it has made.
    """

    def _repr_png_(self) -> bytes:
        out = io.BytesIO()
        self.savefig(out, format="png", dpi=DPI)
        return out.getvalue()
