"""Every outage policy against a server that misbehaves, and all calls against a running licd."""

import asyncio
import contextlib
import json
import os
import re
import socket
import threading
import time
from pathlib import Path

import pytest

from licd_client import (
    ApiError,
    AsyncLicd,
    FailClosed,
    FailOpen,
    FileStore,
    LastAnswer,
    Licd,
    NoAnswer,
)  # fmt: skip

KEY = "sk_live_secret"
PRODUCTS = "/api/v1/admin/products"
VALID = {
    "success": True,
    "data": {"valid": True, "license": {"expiresAt": None}, "activation": {}, "features": ["sso"]},
}
REFUSED = {"success": True, "data": {"valid": False, "reason": "a_new_reason"}}


def http(status, body, *headers, length=None):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    # Said, as a client that does not see the end in time would use the connection again.
    ends = "Connection: close"
    head = [f"HTTP/1.1 {status} X", f"Content-Length: {length or len(body)}", ends, *headers]
    return "\r\n".join([*head, "", ""]).encode() + body


OUTAGES = {
    "hangs": None,
    "closes": b"",
    "HTML": http(200, b"<html>", "Content-Type: text/html"),
    "half": http(200, b'{"success"', length=500),
    "array": http(200, b"[]"),
    "other JSON": http(200, {"success": True, "data": {"valid": "yes"}}),
    "bad time": http(200, {"success": True, "data": {
        "valid": True, "license": {"expiresAt": 7}, "features": []}}),
    "deep": http(200, b"[" * 100_000),
    "503": http(503, {"success": False}, "Retry-After: 1"),
    "429": http(429, {"success": False}, "Retry-After: 99"),
    "redirect": http(302, b"", "Location: http://127.0.0.1:9/"),
    "too large": http(200, json.dumps(VALID).encode() + b" " * (9 << 20)),
    "drips": "drips",
    "gone": "gone",
}  # fmt: skip


def drip(connection):
    """Sends the head of an answer, a byte at a time, and never all of it."""
    with contextlib.suppress(OSError):
        connection.sendall(b"HTTP/1.1 200 X\r\nX: ")
        while True:
            connection.sendall(b"x")
            time.sleep(0.05)


class Fake:
    """Sends its answer to each connection, and counts the requests."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self.answer, self.requests, self.open = http(200, VALID), [], []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            data = b""
            while b"\r\n\r\n" not in data or b"}" not in data:
                part = connection.recv(65536)
                if not part:
                    break
                data += part
            self.requests.append(data)
            if self.answer is None:
                self.open.append(connection)
                continue
            if self.answer == "drips":
                threading.Thread(target=drip, args=(connection,), daemon=True).start()
                continue
            # The client may hang up before the end.
            with contextlib.suppress(OSError):
                connection.sendall(self.answer)
            connection.close()


@pytest.fixture
def fake():
    server = Fake()
    yield server
    server.socket.close()


class Calls:
    """One interface to both clients."""

    def __init__(self, kind, url, **options):
        self.kind, self.slept, self.time = kind, [], 1000.0
        options = {"now": lambda: self.time, "jitter": lambda: 0.5, "pause": 0, **options}
        if kind == "sync":
            self.client = Licd(url, KEY, sleep=self.slept.append, **options)
        else:
            self.loop = asyncio.new_event_loop()

            async def sleep(seconds):
                self.slept.append(seconds)

            self.client = AsyncLicd(url, KEY, sleep=sleep, **options)

    def __call__(self, name, *arguments):
        result = getattr(self.client, name)(*arguments)
        return result if self.kind == "sync" else self.loop.run_until_complete(result)


def break_down(fake, calls, answer):
    fake.answer = answer
    if answer == "gone":
        calls.client._url = "http://127.0.0.1:9"
    return 0.2 if answer is None else 2.0


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("outage", OUTAGES)
def test_each_policy_decides_in_each_outage(fake, kind, outage):
    timeout = 0.2 if outage in ("hangs", "drips") else 5
    for policy, valid in [
        (FailOpen(), True), (FailClosed(), False), (LastAnswer(1, FailOpen()), True),
    ]:  # fmt: skip
        calls = Calls(kind, fake.url, outage=policy, timeout=timeout, deadline=8)
        break_down(fake, calls, OUTAGES[outage])
        result = calls("licensed", "ada", "sso")
        assert (result.valid, result.source) == (valid, "policy")
        with pytest.raises(NoAnswer):
            calls("validate", "ada")


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("outage", ["HTML", "503", "gone"])
def test_the_last_answer_counts_for_its_hours_whichever_way_the_clock_moves(fake, kind, outage):
    calls = Calls(kind, fake.url, outage=LastAnswer(2), timeout=5)
    assert calls("licensed", "ada", "sso").source == "fresh"
    break_down(fake, calls, OUTAGES[outage])
    assert calls("licensed", "ada", "sso") and not calls("licensed", "ada", "other")
    calls.time -= 3600
    assert calls("licensed", "ada").source == "last answer"
    calls.time += 3601
    result = calls("licensed", "ada")
    assert (result.valid, result.reason, result.source) == (False, "no_answer", "policy")


def test_a_refusal_is_no_outage_and_is_remembered(fake):
    calls = Calls("sync", fake.url, outage=LastAnswer(1, FailOpen()), timeout=5)
    fake.answer = http(200, REFUSED)
    assert calls("licensed", "ada").reason == "a_new_reason"
    calls.time += 99999
    fake.answer = OUTAGES["HTML"]
    assert calls("licensed", "ada").source == "last answer"


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_mistake_is_raised_under_every_policy_and_not_retried(fake, status):
    fake.answer = http(status, {"success": False, "code": "x", "error": "no"})
    calls = Calls("sync", fake.url, outage=FailOpen(), timeout=5)
    with pytest.raises(ApiError) as caught:
        calls("licensed", "ada")
    assert caught.value.status == status and len(fake.requests) == 1
    assert KEY not in repr(caught.value) + repr(calls.client)


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("answer", [
    http(401, {"success": False, "code": "unauthorized", "error": "no"}),
    http(403, {"success": False, "code": "forbidden", "error": "no"}),
    http(404, {"success": False, "code": "route_not_found", "error": "no"}),
    http(400, b"<html>a proxy</html>"),
])  # fmt: skip
def test_no_customer_pays_for_a_replaced_key_or_a_proxy(fake, kind, answer, caplog):
    fake.answer = http(200, VALID)
    policy = LastAnswer(1, otherwise=FailOpen(2))
    calls = Calls(kind, fake.url, outage=policy, timeout=5)
    assert calls("licensed", "ada", "sso").source == "fresh"
    fake.answer = answer
    status = int(answer[9:12])
    for user, source in [("ada", "last answer"), ("grace", "policy")]:
        result = calls("licensed", user, "sso")
        assert (result.valid, result.source, result.status) == (True, source, status)
    # asyncio may remark there on the closed loops of earlier tests.
    logged = [it.levelname for it in caplog.records if it.name == "licd_client"]
    assert logged == ["ERROR", "ERROR"]
    assert str(status) in caplog.text and KEY not in caplog.text
    with pytest.raises(ApiError):
        calls("validate", "ada")


@pytest.mark.parametrize("url", [
    "licenses.example.com", "ftp://licenses.example.com", "https://", "", "localhost:8080",
    "https://licenses.example.com/api/v1", "https://licenses.example.com/api/v1/",
])  # fmt: skip
def test_an_address_that_can_never_answer_is_refused_at_once(url):
    with pytest.raises(ValueError, match="the URL must be"):
        Licd(url, KEY, outage=FailOpen())


def test_failing_open_ends(fake):
    time = [0.0]
    calls = Calls("sync", fake.url, outage=FailOpen(hours=2), timeout=5, clock=lambda: time[0])
    fake.answer = OUTAGES["HTML"]
    assert calls("licensed", "ada").has("anything")
    time[0] += 7201
    assert calls("licensed", "ada").reason == "no_answer"
    fake.answer = http(200, REFUSED)
    calls("licensed", "ada")
    fake.answer = OUTAGES["HTML"]
    assert calls("licensed", "grace"), "a new outage has its own hours"


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_in_an_outage_one_check_in_a_while_waits_for_licd(fake, kind):
    time = [0.0]
    options = {"timeout": 0.2, "pause": 10, "deadline": 0.3}
    calls = Calls(kind, fake.url, outage=FailOpen(), clock=lambda: time[0], **options)
    fake.answer = OUTAGES["HTML"]
    calls("licensed", "ada")
    asked = len(fake.requests)
    for _ in range(100):
        assert calls("licensed", "ada").source == "policy"
    assert len(fake.requests) == asked
    time[0] += 10
    fake.answer = http(200, VALID)
    assert calls("licensed", "ada").source == "fresh" and len(fake.requests) == asked + 1
    assert calls("licensed", "ada").source == "fresh", "the outage is over"


def test_an_answer_is_reused_while_it_is_fresh_and_a_refusal_never(fake):
    calls = Calls("sync", fake.url, outage=FailClosed(), timeout=5, fresh_for=60)
    assert [calls("licensed", "ada", "sso").source for _ in range(3)] == ["fresh"] + ["reused"] * 2
    assert calls("licensed", "ada", "other").reason == "missing_feature"
    calls.time += 60
    ends = {**VALID["data"], "license": {"expiresAt": "1970-01-01T00:17:45Z"}}
    fake.answer = http(200, {"success": True, "data": ends})
    assert calls("licensed", "ada").source == "fresh" and calls("licensed", "ada").source == "reused"
    calls.time += 5
    fake.answer = http(200, REFUSED)
    assert [calls("licensed", "ada").source for _ in range(2)] == ["fresh"] * 2
    assert len(fake.requests) == 4


def test_waits_as_told_and_keeps_the_deadline(fake):
    calls = Calls("sync", fake.url, outage=FailClosed(), timeout=30, deadline=60)
    fake.answer = OUTAGES["503"]
    calls("licensed", "ada")
    assert calls.slept == [1.05, 1.05] and len(fake.requests) == 3
    fake.answer = OUTAGES["429"]
    calls("licensed", "ada")
    assert len(fake.requests) == 4


def test_memory_is_bounded_and_a_store_outlives_the_client(fake):
    store = {}

    class Stored:
        get = staticmethod(store.get)
        set = staticmethod(store.__setitem__)

    options = {"outage": LastAnswer(1), "remember": 2, "store": Stored(), "timeout": 5}
    calls = Calls("sync", fake.url, **options)
    for user in "abc":
        calls("licensed", user)
    assert len(calls.client._answers._kept) == 2
    fake.answer = OUTAGES["HTML"]
    assert Calls("sync", fake.url, **options)("licensed", "a").source == "last answer"
    store[next(iter(store))] = "garbage"
    assert Calls("sync", fake.url, **options)("licensed", "a").source == "policy"


def test_answers_are_kept_in_files(fake, tmp_path):
    options = {"outage": LastAnswer(1), "store": FileStore(tmp_path / "answers"), "timeout": 5}
    with Calls("sync", fake.url, **options).client as client:
        assert client.licensed("a/b")
    fake.answer = OUTAGES["HTML"]
    assert Calls("sync", fake.url, **options)("licensed", "a/b").source == "last answer"
    assert len(list((tmp_path / "answers").iterdir())) == 1


def test_a_shop_sells_and_lists(monkeypatch):
    url, key = os.environ["LICD_URL"], os.environ["LICD_KEY"]
    with_licd = Licd(url, key, outage=FailClosed())
    product = with_licd.request("POST", "/api/v1/admin/products", {"name": "Studio"})["id"]
    plan = {"productId": product, "name": "Pro", "features": ["sso"]}
    plan = with_licd.request("POST", "/api/v1/admin/plans", plan)["id"]
    with_licd.create_user("ada/1 ?", email="ada@example.com")
    sold = [with_licd.create_license(plan, idempotency_key="order-1")["id"] for _ in range(2)]
    assert sold[0] == sold[1]
    with_licd.assign(sold[0], "ada/1 ?")
    assert with_licd.licensed("ada/1 ?", "sso", product=product)
    assert with_licd.licensed("ada/1 ?", "other", product=product).reason == "missing_feature"
    with_licd.set_status(sold[0], "suspended")
    assert with_licd.licensed("ada/1 ?").reason == "suspended"
    with_licd.set_status(sold[0], "active")
    assert with_licd.extend(sold[0], "2099-01-01T00:00:00Z")["expiresAt"].startswith("2099")
    with_licd.unassign(sold[0], "ada/1 ?")
    assert with_licd.licensed("ada/1 ?").reason == "no_license"
    for _ in range(501):
        with_licd.create_license(plan)
    found = list(with_licd.list("/api/v1/admin/licenses", planId=plan))
    assert len({license["id"] for license in found}) == 502


def test_what_a_user_types_becomes_a_license():
    url, key = os.environ["LICD_URL"], os.environ["LICD_KEY"]
    outage = LastAnswer(hours=24, otherwise=FailClosed())
    with_licd = Licd(url, key, outage=outage)
    product = with_licd.request("POST", "/api/v1/admin/products", {"name": "Box"})["id"]
    plan = {"productId": product, "name": "Box", "features": ["sso"]}
    plan = with_licd.request("POST", "/api/v1/admin/plans", plan)["id"]
    license = with_licd.create_license(plan)["id"]
    made = with_licd.request("POST", f"/api/v1/admin/licenses/{license}/keys", {"maxUses": 1})
    assert not with_licd.licensed("lin")
    claimed = with_licd.claim("lin", made["key"].lower().replace("-", " "))
    assert claimed.has("sso") and claimed.source == "fresh"
    with pytest.raises(ApiError) as refused:
        with_licd.claim("eve", made["key"])
    assert refused.value.code == "license_key_used_up"
    assert made["key"] not in str(refused.value)
    # The refusal before is forgotten, also for an outage.
    with_licd._url = "http://127.0.0.1:9"
    assert with_licd.licensed("lin", "sso").source == "last answer"
    with pytest.raises(NoAnswer):
        with_licd.claim("lin", made["key"])


def test_a_floating_seat_is_asked_about_in_time_and_given_back():
    now = [time.time()]
    url, key = os.environ["LICD_URL"], os.environ["LICD_KEY"]
    options = {"outage": LastAnswer(hours=1), "fresh_for": 3600.0, "now": lambda: now[0]}
    with Licd(url, key, **options) as client:
        product = client.request("POST", PRODUCTS, {"name": "Loom"})["id"]
        terms = {"productId": product, "name": "Pool", "maxSeats": 1, "seatIdleMinutes": 60}
        plan = client.request("POST", "/api/v1/admin/plans", terms)["id"]
        license = client.create_license(plan)["id"]
        for user in ("kim", "lou"):
            client.assign(license, user)
        assert client.licensed("kim").source == "fresh"
        now[0] += 1199
        assert client.licensed("kim").source == "reused"
        now[0] += 2
        assert client.licensed("kim").source == "fresh"
        assert not client.licensed("lou")
        assert client.release("kim") == 1
        assert client.licensed("lou")
        assert client.licensed("kim").reason == "exceeded_seats"
        assert client.release("nobody") == 0


def test_an_answer_in_grace_counts_although_its_license_has_ended():
    url, key = os.environ["LICD_URL"], os.environ["LICD_KEY"]
    with Licd(url, key, outage=LastAnswer(hours=1), fresh_for=60.0) as client:
        product = client.request("POST", PRODUCTS, {"name": "Late"})["id"]
        terms = {"productId": product, "name": "Basic", "graceDays": 365}
        plan = client.request("POST", "/api/v1/admin/plans", terms)["id"]
        license = client.create_license(plan)["id"]
        client.assign(license, "mia")
        path = f"/api/v1/admin/licenses/{license}"
        client.request("PATCH", path, {"expiresAt": "2026-06-30T00:00:00Z"})
        assert client.licensed("mia", product=product).source == "fresh"
        assert client.licensed("mia", product=product).source == "reused"


def test_the_async_client_asks_a_running_licd():
    async def ask():
        url, key = os.environ["LICD_URL"], os.environ["LICD_KEY"]
        async with AsyncLicd(url, key, outage=FailClosed()) as client:
            await client.create_user("grace")
            return await client.licensed("grace")

    assert asyncio.run(ask()).reason == "no_license"


def test_the_readme_runs(capsys, monkeypatch, tmp_path):
    admin = Licd(os.environ["LICD_URL"], os.environ["LICD_KEY"], outage=FailClosed())
    product = admin.request("POST", PRODUCTS, {"name": "Reef"})["id"]
    monkeypatch.setenv("APP_PRODUCT", product)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("APP_LICENSE_SERVER", os.environ["LICD_URL"])
    monkeypatch.setenv("APP_LICENSE_KEY", os.environ["LICD_KEY"])
    text = (Path(__file__).parent.parent / "README.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    names = {"SIGNING_KEYS": {"keys": ["pasted by the reader"]}}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)  # noqa: S102 It is ours.
    printed = capsys.readouterr().out.splitlines()
    assert len(blocks) == 5
    assert printed[:2] == ["export is off: no_license fresh", "license_key_not_found"]
    assert printed[2] == "export is off: no_license"
    assert printed[3].endswith(" suspended") and printed[4].startswith("404 not_found ")
