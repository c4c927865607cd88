"""What every plot() returns: a Matplotlib figure that shows itself in a notebook. Imported only to draw."""

from __future__ import annotations

import io
from pathlib import Path

from matplotlib.figure import Figure as MatplotlibFigure

from credo.present.html import WIDE, image
from credo.storage.files import explained, write_whole

DPI, FILE_DPI = 120, 150  # of pictures in a notebook, and in files


class Figure(MatplotlibFigure):
    """A Matplotlib figure: `savefig` writes it, `axes` are its panels, and a notebook shows it.

    It needs no pyplot: a kernel shows pyplot's figures only after `%matplotlib inline`, and pyplot keeps them all.
    """

    def _repr_png_(self) -> bytes:
        out = io.BytesIO()
        self.savefig(out, format="png", dpi=DPI)
        return out.getvalue()

    def _repr_html_(self) -> str | None:
        """Of a wide picture, which a notebook would shrink until it is illegible: one that is scrolled."""
        return image(self._repr_png_(), "A picture") if self.get_figwidth() * DPI > WIDE else None


def unmathed(name: object) -> str:
    """A name from the data, which Matplotlib doesn't read as a formula."""
    return str(name).replace("$", r"\$")


def save_figure(figure: MatplotlibFigure, path: str) -> None:
    """A .png, .svg or .pdf file, whole or not at all."""
    place, out = Path(path).expanduser().resolve(), io.BytesIO()
    figure.savefig(out, format=place.suffix[1:].lower(), dpi=FILE_DPI)
    with explained("save to", path):
        write_whole(place, [out.getvalue()])
