"""Serving the page: on a free port of this machine, until it is stopped."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass, field
from html import escape
from os import PathLike
from secrets import token_urlsafe
from threading import Thread
from typing import TYPE_CHECKING, Any

from credo.errors import CredoError, DataError
from credo.explorer.screens.screen import Subject

if TYPE_CHECKING:
    import uvicorn

LOCAL_ADDRESS = "127.0.0.1"
FRAME_PIXELS = 640  # the height in a notebook
NEEDS_PACKAGES = "the explorer needs starlette and uvicorn: pip install 'credo-bayes[explorer]'"


@dataclass(eq=False)
class Explorer:
    """A page about a model, served by a thread of this process. A notebook displays it."""

    subject: Subject
    port: int = 0
    framed: bool = True  # whether a page of this machine, as a notebook, may show it in a frame
    token: str = field(default_factory=lambda: token_urlsafe(24), repr=False)
    _server: Any = field(default=None, repr=False)
    _thread: Thread | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        return f"http://{LOCAL_ADDRESS}:{self.port}/?token={self.token}"

    def start(self) -> Explorer:
        """Listen, and answer in a thread."""
        server, listening = self._listening()
        self._thread = Thread(target=_run, args=(server, listening), daemon=True, name="credo explorer")
        self._thread.start()
        return self

    def wait(self) -> None:
        """Wait until the server is stopped or interrupted."""
        while self._thread is not None and self._thread.is_alive():
            self._thread.join(0.5)

    def stop(self) -> None:
        """Stop answering."""
        if self._server is not None:
            self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(10.0)
            self._thread = None

    def listen(self) -> socket.socket:
        """Open a socket on this machine, which fixes the port."""
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((LOCAL_ADDRESS, self.port))
            listening.listen(64)  # now: the address must work as soon as it is printed
        except (OSError, OverflowError) as error:
            listening.close()
            raise DataError(f"port {self.port} of {LOCAL_ADDRESS} can't be used: {error}") from None
        self.port = int(listening.getsockname()[1])
        return listening

    def _listening(self) -> tuple[uvicorn.Server, socket.socket]:
        try:
            import uvicorn

            from credo.explorer.app import application
        except ImportError:
            raise CredoError(NEEDS_PACKAGES) from None
        listening = self.listen()
        hosts = (f"{LOCAL_ADDRESS}:{self.port}", f"localhost:{self.port}")
        try:
            app = application(self.subject, self.token, hosts, self.framed)
        except CredoError:
            listening.close()
            raise
        settings = uvicorn.Config(
            app, log_level="warning", access_log=False, lifespan="off", server_header=False, timeout_keep_alive=30,
            limit_concurrency=64, h11_max_incomplete_event_size=2**16,
        )  # fmt: skip
        self._server = uvicorn.Server(settings)
        return self._server, listening

    def __enter__(self) -> Explorer:
        return self if self._thread is not None else self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _repr_html_(self) -> str:
        if self._thread is None:
            self.start()
        style = f"width:100%;height:{FRAME_PIXELS}px;border:1px solid #8884;border-radius:6px"
        return f'<iframe src="{escape(self.url)}" style="{style}" title="credo explorer"></iframe>'


def _run(server: uvicorn.Server, listening: socket.socket) -> None:
    try:
        asyncio.run(server.serve(sockets=[listening]))
    finally:
        listening.close()


def explore(model: Any, *, data: object = None, port: int = 0) -> Explorer:
    """A page about a model, or about one in a file, optionally with rows. A notebook displays it; `start()` serves it.

    >>> from credo import Network
    >>> with explore(Network.example("asia")) as page:
    ...     page.url.startswith("http://127.0.0.1:")
    True
    """
    if isinstance(model, str | PathLike):
        from credo.explorer.opening import opened_file

        return Explorer(opened_file(str(model), data), port)
    return Explorer(Subject(model, data=data), port)
