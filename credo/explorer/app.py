"""The web application: the page, its files, and a screen's answers as JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from credo import __version__, present
from credo.errors import CredoError
from credo.explorer.guard import Application, Guard
from credo.explorer.screens.screen import Subject, answered, screens_of, shown
from credo.present.content import json_text

if TYPE_CHECKING:
    from starlette.requests import Request

STATIC_FILES = Path(__file__).parent / "static"
STYLE_FILE = Path(present.__file__).parent / "credo.css"  # shared with reports
NO_SCREEN = {"error": "there is no such screen"}
ANSWER_SECONDS = 60.0  # before a request fails


def application(subject: Subject, token: str, hosts: tuple[str, ...], framed: bool = False) -> Application:
    """The web application for a model; requests need the token."""
    screens = screens_of(subject)

    async def page(request: Request) -> Response:  # noqa: ARG001 - starlette's signature
        return FileResponse(STATIC_FILES / "index.html", media_type="text/html")

    async def style(request: Request) -> Response:  # noqa: ARG001
        return FileResponse(STYLE_FILE, media_type="text/css")

    async def opened(request: Request) -> Response:  # noqa: ARG001
        listed = [{"kind": kind, "title": each.title} for kind, each in screens.items()]
        return _json({"title": subject.title, "credo": __version__, "screens": listed})

    async def screened(request: Request) -> Response:
        screen = screens.get(request.path_params["kind"])
        return _json(NO_SCREEN, 404) if screen is None else await _answer(lambda: shown(screen))

    async def acted(request: Request) -> Response:
        try:
            asked = json.loads(await request.body() or b"{}")
        except ValueError:
            return _json({"error": "a request must be JSON"}, 400)
        screen = screens.get(request.path_params["kind"])
        if screen is None:
            return _json(NO_SCREEN, 404)
        return await _answer(lambda: answered(screen, request.path_params["action"], asked))

    routes = [
        Route("/", page),
        Route("/api/opened", opened),
        Route("/api/{kind}/opened", screened),
        Route("/api/{kind}/{action}", acted, methods=["POST"]),
        Route("/static/credo.css", style),
        Mount("/static", StaticFiles(directory=STATIC_FILES)),
    ]
    return Guard(Starlette(routes=routes), token, hosts, framed)


async def _answer(work: Callable[[], Any]) -> Response:
    """The answer to a request, or an error in one sentence."""
    try:
        return _json(await asyncio.wait_for(run_in_threadpool(work), ANSWER_SECONDS))
    except CredoError as error:
        return _json({"error": str(error)}, 400)
    except TimeoutError:
        return _json({"error": f"no answer within {ANSWER_SECONDS:.0f} seconds"}, 503)


def _json(data: object, status: int = 200) -> Response:
    return Response(json_text(data), status, media_type="application/json")
