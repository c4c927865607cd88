"""A self-contained page about any model, with the same contents as the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from credo.asking.protocol import registered
from credo.errors import DataError, EvidenceError
from credo.present.classifier_page import made, whole_page
from credo.present.content import Content, Paragraph
from credo.present.html import contents_html, image, named
from credo.present.models import model_content, short_title
from credo.storage.files import FilePath, explained, write_whole

PAGE_OF_KIND = {  # kinds of models with a page of their own
    "credo.models.classifier.Classifier": "credo.present.classifier_page.page_of",
    "credo.models.mixture.model.Mixture": "credo.present.mixture_page.mixture_page_of",
}


def model_page(model: Any, path: FilePath, more: Sequence[Content] = (), file: str = "") -> None:
    """Write the page atomically, ending with further contents such as scores, and the model's file."""
    text = model_page_of(model, more, file).encode(errors="replace")
    with explained("save to", path):
        write_whole(Path(path).expanduser().resolve(), [text])


def model_page_of(model: Any, more: Sequence[Content] = (), file: str = "") -> str:
    """The page's HTML: everything that comes from the data is escaped."""
    own = registered(model, PAGE_OF_KIND)
    if own is not None:
        page: str = own(model, saved=file)
        return page
    contents = model_content(model)
    first, rest = contents[0], contents[1:]
    titled = isinstance(first, Paragraph) and first.role == "title"
    title = first.text if isinstance(first, Paragraph) and titled else short_title(model)
    body = contents_html([*(rest if titled else contents), *more], "sortable")
    return whole_page(title, [f"<h1>{named(title)}</h1>", _picture(model), body, made(file)])


def _picture(model: Any) -> str:
    """The model's `plot`, if it has one."""
    try:
        drawn = model.plot()
    except (AttributeError, EvidenceError, DataError):
        return ""
    return f"<figure>{image(drawn._repr_png_(), 'A plot of the model')}</figure>"
