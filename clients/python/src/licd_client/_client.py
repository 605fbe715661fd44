"""The sync and the async client: they send what `_flow` asks for, and leave all decisions to it."""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

import httpx

from . import _flow as flow
from ._admin import AdminCalls
from ._deadline import Deadline
from ._policy import Policy

T = TypeVar("T")
MAX_BODY = 8 * 1024 * 1024


def _server(url: str) -> str:
    """The address without a slash at its end. A wrong one would be an outage that never ends."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError("the URL must be an address such as https://licenses.example.com")
    if parts.path.rstrip("/").endswith("/api/v1"):
        raise ValueError("the URL must be the address of licd, without /api/v1")
    return url.rstrip("/")


def _check(size: int) -> None:
    if size > MAX_BODY:
        raise httpx.ReadError("the response is too large")


class _Base:
    def __init__(
        self,
        url: str,
        key: str,
        *,
        outage: Policy,
        product: str | None = None,
        timeout: float = 2.0,
        deadline: float = 5.0,
        remember: int = 10_000,
        store: flow.Store | None = None,
        fresh_for: float = 0.0,
        pause: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        jitter: Callable[[], float] = random.random,
        sleep: Callable[[float], Any] | None = None,
    ) -> None:
        if not key or not key.isascii() or not key.isprintable() or " " in key:
            raise ValueError("the key is empty or has characters that no key has")
        self._url, self._product, self._policy = _server(url), product, outage
        self._timing = flow.Timing(timeout, deadline, clock, now, jitter, pause, fresh_for)
        self._outage = flow.Outage()
        self._answers = flow.Answers(remember, store)
        self._headers = {"Authorization": f"Bearer {key}", "Accept-Encoding": "identity"}
        self._connect(sleep)

    def _connect(self, sleep: Callable[[float], Any] | None) -> None:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._url!r})"

    def _call(self, method: str, path: str, body: Any, key: str | None) -> flow.Flow[Any]:
        if method != "GET" and path.startswith("/api/v1/admin"):
            key = key or str(uuid.uuid4())
        envelope = yield from flow.request(self._timing, method, path, body, key)
        return envelope

    def _licensed(
        self, user: str, feature: str | None, product: str | None
    ) -> flow.Flow[flow.Result]:
        product = product or self._product
        return flow.licensed(
            self._timing, self._outage, self._answers, self._policy, user, feature, product
        )

    def _claim(self, user: str, key: str, product: str | None) -> flow.Flow[flow.Result]:
        product = product or self._product
        return flow.claim(self._timing, self._answers, self._policy, user, key, product)

    def _release(self, user: str, product: str | None) -> flow.Flow[int]:
        return flow.release(self._timing, self._answers, user, product or self._product)

    def install_lease(self, user: str, token: str, *, product: str | None = None) -> flow.Result:
        """Takes a lease from a file, for a machine without a network: from now on it counts without an
        answer. Raises LicdError if it is not for this user, product and machine, or has ended."""
        product = product or self._product
        return flow.install(self._timing, self._answers, self._policy, user, product, token)

    def _arguments(self, send: flow.Send) -> dict[str, Any]:
        headers = dict(self._headers)
        if send.idempotency_key is not None:
            headers["Idempotency-Key"] = send.idempotency_key
        body = {} if send.body is None else {"json": send.body}
        return {
            "method": send.method, "url": self._url + send.path, "headers": headers,
            "timeout": send.timeout, "follow_redirects": False, **body,
        }  # fmt: skip


class Licd(_Base, AdminCalls[dict[str, Any]]):
    """A client of licd. It keeps connections open, so create one and share it among threads."""

    def _connect(self, sleep: Callable[[float], Any] | None) -> None:
        self._sleep, self._http = sleep or time.sleep, httpx.Client()
        self._deadline = Deadline(self._http)

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Licd:  # noqa: PYI034 Python 3.10 has no Self.
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def licensed(
        self, user: str, feature: str | None = None, *, product: str | None = None
    ) -> flow.Result:
        """Whether the user is licensed, with the outage policy if licd gives no answer."""
        return self._run(self._licensed(user, feature, product))

    def validate(self, user: str, product: str | None = None) -> dict[str, Any]:
        """licd's answer as it is. Raises NoAnswer in an outage."""
        return self._run(flow.validate(self._timing, user, product or self._product))

    def claim(self, user: str, license_key: str, *, product: str | None = None) -> flow.Result:
        """Gives the user the license of a key, as it was typed, and fetches a lease if that is the
        outage policy. Raises ApiError with a `code` that begins with `license_key_` if the key is no
        good, and NoAnswer in an outage."""
        return self._run(self._claim(user, license_key, product))

    def release(self, user: str, *, product: str | None = None) -> int:
        """Gives back the user's floating seats when the program ends, and returns how many. A seat
        that is in use elsewhere stays. Raises NoAnswer in an outage."""
        return self._run(self._release(user, product))

    def request(
        self, method: str, path: str, body: Any = None, *, idempotency_key: str | None = None
    ) -> Any:
        """The data of any other response. Changes get an Idempotency-Key and are retried."""
        return self._run(self._call(method, path, body, idempotency_key))["data"]

    def list(self, path: str, **filters: str) -> Iterator[dict[str, Any]]:
        """All records of a list, read in pages."""
        query = {**filters, "limit": "500"}
        while True:
            page = self._run(self._call("GET", f"{path}?{urlencode(query)}", None, None))
            yield from page["data"]
            if not page.get("nextCursor"):
                return
            query["after"] = page["nextCursor"]

    def _run(self, steps: flow.Flow[T]) -> T:
        got: flow.Response | str | None = None
        while True:
            try:
                step = steps.send(got)
            except StopIteration as done:
                result: T = done.value
                return result
            got = self._sleep(step.seconds) if isinstance(step, flow.Sleep) else self._send(step)

    def _send(self, send: flow.Send) -> flow.Response | str:
        body = bytearray()
        self._deadline.begin(send.timeout)
        try:
            with self._http.stream(**self._arguments(send)) as response:
                for chunk in response.iter_raw():
                    body += chunk
                    _check(len(body))
            retry_after = response.headers.get("Retry-After")
            return flow.Response(response.status_code, bytes(body), retry_after)
        except httpx.TransportError as error:
            return type(error).__name__


class AsyncLicd(_Base, AdminCalls[Awaitable[dict[str, Any]]]):
    """The same client for asyncio. A store's methods are called in the event loop."""

    def _connect(self, sleep: Callable[[float], Any] | None) -> None:
        self._sleep, self._http = sleep or asyncio.sleep, httpx.AsyncClient()

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> AsyncLicd:  # noqa: PYI034
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def licensed(
        self, user: str, feature: str | None = None, *, product: str | None = None
    ) -> flow.Result:
        return await self._run(self._licensed(user, feature, product))

    async def validate(self, user: str, product: str | None = None) -> dict[str, Any]:
        return await self._run(flow.validate(self._timing, user, product or self._product))

    async def claim(
        self, user: str, license_key: str, *, product: str | None = None
    ) -> flow.Result:
        return await self._run(self._claim(user, license_key, product))

    async def release(self, user: str, *, product: str | None = None) -> int:
        return await self._run(self._release(user, product))

    async def request(
        self, method: str, path: str, body: Any = None, *, idempotency_key: str | None = None
    ) -> Any:
        return (await self._run(self._call(method, path, body, idempotency_key)))["data"]

    async def list(self, path: str, **filters: str) -> AsyncIterator[dict[str, Any]]:
        query = {**filters, "limit": "500"}
        while True:
            page = await self._run(self._call("GET", f"{path}?{urlencode(query)}", None, None))
            for record in page["data"]:
                yield record
            if not page.get("nextCursor"):
                return
            query["after"] = page["nextCursor"]

    async def _run(self, steps: flow.Flow[T]) -> T:
        got: flow.Response | str | None = None
        while True:
            try:
                step = steps.send(got)
            except StopIteration as done:
                result: T = done.value
                return result
            if isinstance(step, flow.Sleep):
                got = await self._sleep(step.seconds)
            else:
                try:
                    got = await asyncio.wait_for(self._send(step), step.timeout)
                except asyncio.TimeoutError:
                    got = "ReadTimeout"

    async def _send(self, send: flow.Send) -> flow.Response | str:
        body = bytearray()
        try:
            async with self._http.stream(**self._arguments(send)) as response:
                async for chunk in response.aiter_raw():
                    body += chunk
                    _check(len(body))
            retry_after = response.headers.get("Retry-After")
            return flow.Response(response.status_code, bytes(body), retry_after)
        except httpx.TransportError as error:
            return type(error).__name__
