"""The explorer answers this machine's own page alone: Host, Origin, token, sizes, and what the page may load."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from time import sleep

import pytest

import credo
from credo.explorer.guard import REQUEST_BYTES
from credo.explorer.serving import Explorer

Reply = tuple[int, dict[str, str], bytes]


@pytest.fixture(scope="module")
def page() -> Iterator[Explorer]:
    with credo.explore(credo.Network.example("asia")) as served:
        yield served


def sent(page: Explorer, path: str, method: str = "GET", body: bytes | None = None, **headers: str) -> Reply:
    connection = http.client.HTTPConnection("127.0.0.1", page.port, timeout=20)
    own = {"Host": f"127.0.0.1:{page.port}", "X-Credo-Token": page.token} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    connection.request(method, path, body, {name: value for name, value in own.items() if value})
    answer = connection.getresponse()
    found = answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    connection.close()
    return found


def test_the_page_needs_its_token(page: Explorer) -> None:
    assert sent(page, f"/?token={page.token}", X_Credo_Token="")[0] == 200
    own = page.token
    for wrong in ("/", "/?token=", "/?token=x", f"/?token={own}x", "/api/opened", f"/api/opened?token={own}"):
        status, _, body = sent(page, wrong, X_Credo_Token="")
        assert status == 403, wrong
        assert b"token" in body
    assert sent(page, "/api/opened", X_Credo_Token="no")[0] == 403


def test_another_host_is_refused(page: Explorer) -> None:
    for host in ("evil.example", f"evil.example:{page.port}", "127.0.0.1", f"127.0.0.2:{page.port}"):
        assert sent(page, "/api/opened", Host=host)[0] == 421, host
    assert sent(page, "/api/opened", Host=f"localhost:{page.port}")[0] == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost"])
def test_another_origin_is_refused(page: Explorer, origin: str) -> None:
    assert sent(page, "/api/network/marginals", "POST", b"{}", Origin=origin)[0] == 403
    assert sent(page, "/api/network/marginals", "POST", b"{}", Sec_Fetch_Site="cross-site")[0] == 403
    assert sent(page, "/api/network/marginals", "POST", b"{}", Origin=f"http://127.0.0.1:{page.port}")[0] == 200


def test_pages_load_nothing_from_elsewhere(page: Explorer) -> None:
    for path in (f"/?token={page.token}", "/static/app.js", "/api/opened"):
        policy = sent(page, path)[1]["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
    _, headers, body = sent(page, f"/?token={page.token}")
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert b"http://" not in body
    assert b"https://" not in body


def test_requests_are_bounded(page: Explorer) -> None:
    assert sent(page, "/api/network/marginals", "POST", b"x", Content_Length=str(REQUEST_BYTES + 1))[0] == 413


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static//etc/passwd", "/api/none/opened"]
)
def test_other_files_and_screens_are_not_there(page: Explorer, path: str) -> None:
    assert sent(page, path)[0] == 404


@pytest.mark.parametrize(
    ("action", "asked", "said"),
    [
        ("marginals", b"{", "JSON"),
        ("marginals", b"[]", "object"),
        ("marginals", b'{"given": 3}', "'given' must be an object"),
        ("marginals", b'{"given": {"Smokng": "yes"}}', "Did you mean 'Smoking'"),
        ("marginals", b'{"given": {"Smoking": {"yes": -1}}}', "at least 0"),
        ("nothing", b"{}", "no action"),
        ("explain", b"{}", "'target' must be a text"),
        ("layout", b'{"around": "x"}', "no variable"),
    ],
)
def test_bad_requests_are_told_in_a_sentence(page: Explorer, action: str, asked: bytes, said: str) -> None:
    status, _, body = sent(page, f"/api/network/{action}", "POST", asked)
    assert status == 400
    assert said in json.loads(body)["error"]


def test_it_stops(page: Explorer) -> None:
    with credo.explore(credo.Network.example("storm")) as other:
        assert sent(other, "/api/opened")[0] == 200
    with pytest.raises(ConnectionRefusedError):
        sent(other, "/api/opened")
    assert sent(page, "/api/opened")[0] == 200


def test_a_body_in_chunks_is_bounded_too(page: Explorer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", page.port, timeout=20)
    headers = {"Host": f"127.0.0.1:{page.port}", "X-Credo-Token": page.token}
    many = (b'{"given": {}}' + b" " * 2**20 for _ in range(2 * REQUEST_BYTES // 2**20))
    status = 0
    try:
        connection.request("POST", "/api/network/marginals", many, headers, encode_chunked=True)
        status = connection.getresponse().status
    except OSError:  # it stopped reading
        pass
    finally:
        connection.close()
    assert status != 200
    assert sent(page, "/api/opened")[0] == 200


def test_an_answer_takes_a_bounded_time(page: Explorer, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*_: object) -> dict[str, object]:
        sleep(1.5)
        return {}

    monkeypatch.setattr("credo.explorer.app.ANSWER_SECONDS", 0.2)
    monkeypatch.setattr("credo.explorer.screens.network.NetworkScreen.table", slow)
    status, _, body = sent(page, "/api/network/table", "POST", b"{}")
    assert status == 503
    assert "no answer within" in json.loads(body)["error"]
    assert sent(page, "/api/opened")[0] == 200
