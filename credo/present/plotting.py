"""The result of every plot(): a Matplotlib figure that a notebook displays. Imported only for drawing."""

from __future__ import annotations

import io
from pathlib import Path

from matplotlib.figure import Figure as MatplotlibFigure

from credo.present.html import WIDE_PIXELS, image
from credo.storage.files import explained, write_whole

DPI, FILE_DPI = 120, 150  # in a notebook, and in files


class Figure(MatplotlibFigure):
    """A Matplotlib figure: `savefig` writes it, `axes` are its panels, and a notebook shows it.

    It needs no pyplot: a kernel shows pyplot's figures only after `%matplotlib inline`, and pyplot keeps them all.
    """

    def _repr_png_(self) -> bytes:
        out = io.BytesIO()
        self.savefig(out, format="png", dpi=DPI)
        return out.getvalue()

    def _repr_html_(self) -> str | None:
        """A scrolling form of a wide picture, which a notebook would shrink until it is illegible."""
        return image(self._repr_png_(), "A picture") if self.get_figwidth() * DPI > WIDE_PIXELS else None


def unmathed(name: object) -> str:
    """A name from the data, escaped so that Matplotlib doesn't read it as a formula."""
    return str(name).replace("$", r"\$")


def save_figure(figure: MatplotlibFigure, path: str) -> None:
    """Write a .png, .svg or .pdf file, atomically."""
    place, out = Path(path).expanduser().resolve(), io.BytesIO()
    figure.savefig(out, format=place.suffix[1:].lower(), dpi=FILE_DPI)
    with explained("save to", path):
        write_whole(place, [out.getvalue()])
