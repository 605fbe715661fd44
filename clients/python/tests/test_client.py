"""Every outage policy against a server that misbehaves, and all calls against a running licd."""

import asyncio
import contextlib
import json
import os
import re
import socket
import threading
from pathlib import Path

import pytest

from licd_client import ApiError, AsyncLicd, FailClosed, FailOpen, LastAnswer, Licd, NoAnswer

KEY = "sk_live_secret"
VALID = {
    "success": True,
    "data": {"valid": True, "license": {"expiresAt": None}, "activation": {}, "features": ["sso"]},
}
REFUSED = {"success": True, "data": {"valid": False, "reason": "a_new_reason"}}


def http(status, body, *headers, length=None):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = [f"HTTP/1.1 {status} X", f"Content-Length: {length or len(body)}", *headers]
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
    "gone": "gone",
}  # fmt: skip


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
        options = {"now": lambda: self.time, "jitter": lambda: 0.5, **options}
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
    timeout = 0.2 if outage == "hangs" else 5
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


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404])
def test_a_mistake_is_raised_under_every_policy_and_not_retried(fake, status):
    fake.answer = http(status, {"success": False, "code": "x", "error": "no"})
    calls = Calls("sync", fake.url, outage=FailOpen(), timeout=5)
    with pytest.raises(ApiError) as caught:
        calls("licensed", "ada")
    assert caught.value.status == status and len(fake.requests) == 1
    assert KEY not in repr(caught.value) + repr(calls.client)


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
    assert with_licd.licensed("ada/1 ?", "other", product=product).reason == "no_feature"
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


def test_the_async_client_asks_a_running_licd():
    async def ask():
        client = AsyncLicd(os.environ["LICD_URL"], os.environ["LICD_KEY"], outage=FailClosed())
        await client.create_user("grace")
        result = await client.licensed("grace")
        await client.close()
        return result

    assert asyncio.run(ask()).reason == "no_license"


def test_the_readme_runs(capsys):
    text = (Path(__file__).parent.parent / "README.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    names = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)  # noqa: S102 It is ours.
    printed = capsys.readouterr().out.splitlines()
    assert len(blocks) == 3
    assert printed[0] == "export is off: no_license fresh"
    assert printed[1].endswith(" suspended") and printed[2].startswith("404 not_found ")
