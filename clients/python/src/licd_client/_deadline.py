"""One deadline for a whole request. httpx bounds each read by itself, so a server that sends a byte now
and then would hold its caller for ever."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Iterable
from typing import Any

import httpcore
import httpx


class Deadline(httpcore.NetworkBackend):
    """The connections of a client, on which each thread has its own deadline."""

    def __init__(self, client: httpx.Client) -> None:
        self._inner, self._of_thread = httpcore.SyncBackend(), threading.local()
        for transport in (client._transport, *client._mounts.values()):
            if isinstance(transport, httpx.HTTPTransport):
                transport._pool._network_backend = self

    def begin(self, seconds: float) -> None:
        """Sets the time that this thread's request may take from now on."""
        self._of_thread.end = time.monotonic() + seconds

    def left(self, timeout: float | None) -> float:
        left: float = self._of_thread.end - time.monotonic()
        if left <= 0:
            raise httpcore.ReadTimeout("the response took too long")
        return left if timeout is None else min(left, timeout)

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        stream = self._inner.connect_tcp(
            host, port, self.left(timeout), local_address, socket_options
        )
        return _Stream(stream, self)


class _Stream(httpcore.NetworkStream):
    def __init__(self, inner: httpcore.NetworkStream, deadline: Deadline) -> None:
        self._inner, self._deadline = inner, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, self._deadline.left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._deadline.left(timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        timeout = self._deadline.left(timeout)
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, timeout), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
