"""Access control: only requests from this server's own page, on this machine and with the token, are answered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from secrets import compare_digest
from typing import Any
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

REQUEST_BYTES = 2**23  # of a request
TOKEN_HEADER = b"x-credo-token"
# Scripts and styles come from this server's own files; nothing else is loaded, framed or sent anywhere.
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors {ancestors}"
)
RESPONSE_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)


class Guard:
    """Checks Host (no DNS rebinding), Origin (no other site's requests), the token, and the size of a request."""

    def __init__(self, app: Application, token: str, hosts: tuple[str, ...], framed: bool = False) -> None:
        self.app, self.token, self.hosts = app, token.encode(), tuple(host.encode() for host in hosts)
        ancestors = "http://127.0.0.1:* http://localhost:*" if framed else "'none'"
        self.headers = (
            *RESPONSE_HEADERS,
            (b"content-security-policy", CONTENT_POLICY.format(ancestors=ancestors).encode()),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            await _refuse(self._sending(send), *refusal)
            return
        await self.app(scope, self._bounded(receive), self._sending(send))

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Status and reason if a request is refused, else None."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        if headers.get(b"host", b"") not in self.hosts:
            return 421, "this server answers to its own address only"
        origin = headers.get(b"origin")
        if origin is not None and origin not in tuple(b"http://" + host for host in self.hosts):
            return 403, "requests from other sites aren't answered"
        if headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin") and scope["method"] != "GET":
            return 403, "requests from other sites aren't answered"
        if not scope["path"].startswith("/static/") and not self._has_token(scope, headers):
            return 403, "the address lacks its token: open the one that credo explore printed"
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > REQUEST_BYTES:
            return 413, f"a request may have {REQUEST_BYTES} bytes"
        return None

    def _has_token(self, scope: Scope, headers: dict[bytes, bytes]) -> bool:
        """Whether the token is in the header; in the address only for the page itself."""
        given = headers.get(TOKEN_HEADER)
        if given is None and scope["path"] == "/" and scope["method"] in ("GET", "HEAD"):
            found = parse_qs(scope["query_string"]).get(b"token", [b""])
            given = found[0]
        return given is not None and compare_digest(given, self.token)

    def _bounded(self, receive: Receive) -> Receive:
        """Limit the size of a chunked body, whose length isn't known beforehand."""
        seen = 0

        async def receiving() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > REQUEST_BYTES:
                return {"type": "http.disconnect"}
            return message

        return receiving

    def _sending(self, send: Send) -> Send:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *self.headers]
            await send(message)

        return sending


async def _refuse(send: Send, status: int, reason: str) -> None:
    body = f"{reason}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
