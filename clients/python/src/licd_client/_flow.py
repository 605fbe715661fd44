"""Decides what to send, when to retry and what a response means, without any I/O: the flows are
generators that yield requests and pauses, which the sync and the async client carry out."""

from __future__ import annotations

import json
import logging
from collections import OrderedDict
from collections.abc import Callable, Generator
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal, Protocol, TypeVar

log = logging.getLogger("licd_client")
T = TypeVar("T")
Source = Literal["fresh", "last answer", "policy"]
MAX_ATTEMPTS = 3


class LicdError(Exception):
    """Every error of this package."""


class NoAnswer(LicdError):
    """licd gave no usable response in time. It says nothing about the user."""


class ApiError(LicdError):
    """licd refused the request: the program or its key is at fault. Branch on `code`."""

    def __init__(self, status: int, code: str, message: str, field: str, request_id: str) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status, self.code, self.field, self.request_id = status, code, field, request_id


@dataclass(frozen=True)
class FailClosed:
    """Without an answer, the user is not licensed."""


@dataclass(frozen=True)
class FailOpen:
    """Without an answer, the user is licensed for everything."""


@dataclass(frozen=True)
class LastAnswer:
    """Without an answer, the last one counts for this many hours, and then `otherwise`."""

    hours: float
    otherwise: FailClosed | FailOpen = FailClosed()


Policy = FailClosed | FailOpen | LastAnswer


@dataclass(frozen=True)
class Result:
    """Whether the user is licensed. `reason` is an open set: each means not licensed."""

    valid: bool
    reason: str | None
    license: dict[str, Any] | None
    features: tuple[str, ...]
    source: Source

    def __bool__(self) -> bool:
        return self.valid


class Store(Protocol):
    """Keeps last answers across restarts. The text contains no secret."""

    def get(self, key: str, /) -> str | None: ...
    def set(self, key: str, value: str, /) -> None: ...


@dataclass(frozen=True)
class Send:
    method: str
    path: str
    body: Any
    idempotency_key: str | None
    timeout: float


@dataclass(frozen=True)
class Sleep:
    seconds: float


@dataclass(frozen=True)
class Response:
    status: int
    body: bytes
    retry_after: str | None


# A failed request is sent into the flow as the sentence that describes it.
Flow = Generator[Send | Sleep, "Response | str | None", T]


@dataclass(frozen=True)
class Timing:
    """The clocks and chance of a client, which tests replace."""

    attempt: float
    deadline: float
    clock: Callable[[], float]
    now: Callable[[], float]
    jitter: Callable[[], float]


def request(t: Timing, method: str, path: str, body: Any, key: str | None) -> Flow[dict[str, Any]]:
    """Returns the envelope of a success. Retries only what is safe to repeat."""
    end = t.clock() + t.deadline
    safe = method == "GET" or path == "/api/v1/validate" or key is not None
    problem = "no time left"
    for attempt in range(1, MAX_ATTEMPTS + 1):
        left = end - t.clock()
        if left <= 0:
            raise NoAnswer(problem)
        got = yield Send(method, path, body, key, min(t.attempt, left))
        wait = 0.1 * 2**attempt * (0.5 + t.jitter())
        retry = safe
        if isinstance(got, Response):
            envelope = _envelope(got)
            if 200 <= got.status < 300 and envelope.get("success") is True and "data" in envelope:
                return envelope
            busy = envelope.get("code") == "idempotency_key_in_use"
            if 400 <= got.status < 500 and got.status not in (408, 429) and not busy:
                raise _api_error(got.status, envelope)
            problem = f"unusable response with status {got.status}"
            retry = safe and not 300 <= got.status < 400
            if got.retry_after and got.retry_after.isascii() and got.retry_after.isdigit():
                wait = int(got.retry_after[:9]) + 0.1 * t.jitter()
        else:
            problem = got or "no response"
        if not retry or attempt == MAX_ATTEMPTS or t.clock() + wait >= end:
            raise NoAnswer(problem)
        yield Sleep(wait)
    raise AssertionError("unreachable")


def _envelope(response: Response) -> dict[str, Any]:
    try:
        value = json.loads(response.body)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _api_error(status: int, envelope: dict[str, Any]) -> ApiError:
    words = [envelope.get(name) for name in ("code", "error", "field", "requestId")]
    code, message, field, request_id = (w if isinstance(w, str) else "" for w in words)
    return ApiError(status, code or "unknown", message or "no message", field, request_id)


@dataclass
class _Kept:
    result: dict[str, Any]
    seen: float
    left: float


class Answers:
    """The last answer about each user, at most `size` in memory."""

    def __init__(self, size: int, store: Store | None) -> None:
        self._size, self._store = size, store
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    def put(self, key: str, kept: _Kept) -> None:
        self._kept[key] = kept
        self._kept.move_to_end(key)
        while len(self._kept) > self._size:
            self._kept.popitem(last=False)
        if self._store:
            try:
                self._store.set(key, json.dumps(asdict(kept)))
            except Exception as error:  # noqa: BLE001 A store never fails a check.
                log.warning("the last answer is not stored: %s", type(error).__name__)

    def get(self, key: str) -> _Kept | None:
        if key not in self._kept and self._store:
            try:
                text = self._store.get(key)
                if text is not None:
                    kept = _Kept(**json.loads(text))
                    _result({"data": kept.result})
                    return _Kept(kept.result, float(kept.seen), float(kept.left))
            except Exception as error:  # noqa: BLE001 A store never fails a check.
                log.warning("the last answer is not read: %s", type(error).__name__)
        return self._kept.get(key)


def validate(t: Timing, user: str, product: str | None) -> Flow[dict[str, Any]]:
    """Returns the data of a validation, of the form that the interface promises."""
    body = {"userId": user} | ({"productId": product} if product else {})
    envelope = yield from request(t, "POST", "/api/v1/validate", body, None)
    _result(envelope)
    data: dict[str, Any] = envelope["data"]
    return data


def licensed(
    t: Timing, answers: Answers, policy: Policy, user: str, feature: str | None, product: str | None
) -> Flow[Result]:
    key = json.dumps([product, user])
    try:
        data = yield from validate(t, user, product)
    except NoAnswer as error:
        log.warning("licd gave no answer: %s", error)
        return _fallback(t, answers, policy, key, feature)
    if isinstance(policy, LastAnswer):
        left = policy.hours * 3600
        if (end := _end(data)) is not None:
            left = min(left, end - t.now())
        answers.put(key, _Kept(data, t.now(), left))
    return _with_feature(_result({"data": data}), feature, "fresh")


def _fallback(t: Timing, answers: Answers, policy: Policy, key: str, feature: str | None) -> Result:
    if isinstance(policy, LastAnswer):
        kept = answers.get(key)
        if kept:
            # Moving the clock, in either direction, uses up the time too.
            kept = _Kept(kept.result, t.now(), kept.left - abs(t.now() - kept.seen))
            answers.put(key, kept)
            result = _result({"data": kept.result})
            if kept.left > 0 or not result.valid:
                return _with_feature(result, feature, "last answer")
        policy = policy.otherwise
    is_open = isinstance(policy, FailOpen)
    return Result(is_open, None if is_open else "no_answer", None, (), "policy")


def _result(envelope: dict[str, Any]) -> Result:
    data = envelope["data"]
    valid = data.get("valid") if isinstance(data, dict) else None
    if valid is False:
        reason = data.get("reason")
        return Result(False, reason if isinstance(reason, str) else "unknown", None, (), "fresh")
    if valid is True and isinstance(data.get("license"), dict):
        features = data.get("features")
        if isinstance(features, list) and all(isinstance(f, str) for f in features):
            try:
                _end(data)
            except (AttributeError, TypeError, ValueError):
                raise NoAnswer("a validation of an unknown form") from None
            return Result(True, None, data["license"], tuple(features), "fresh")
    raise NoAnswer("a validation of an unknown form")


def _end(data: dict[str, Any]) -> float | None:
    text = (data.get("license") or {}).get("expiresAt")
    return None if text is None else datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def _with_feature(result: Result, feature: str | None, source: Source) -> Result:
    if result.valid and feature is not None and feature not in result.features:
        return Result(False, "no_feature", result.license, result.features, source)
    return Result(result.valid, result.reason, result.license, result.features, source)
