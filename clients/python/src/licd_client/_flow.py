"""Decides what to send, when to retry and what a response means, without any I/O: the flows are
generators that yield requests and pauses, which the sync and the async client carry out."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Generator
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from ._lease import Lease, NotALease, verify
from ._policy import FailOpen, LastAnswer, Leases, Policy

log = logging.getLogger("licd_client")
T = TypeVar("T")
Source = Literal["fresh", "reused", "last answer", "lease", "policy"]
VALIDATE, CLAIM, RELEASE = "/api/v1/validate", "/api/v1/claim", "/api/v1/release"
LEASE = "/api/v1/lease"
MAX_ATTEMPTS = 3


class LicdError(Exception):
    """Every error of this package."""


class NoAnswer(LicdError):
    """licd gave no usable response in time. It says nothing about the user."""

    def __init__(self, problem: str, status: int | None = None) -> None:
        super().__init__(problem)
        self.status = status


class ApiError(LicdError):
    """licd refused the request: the program or its key is at fault. Branch on `code`."""

    def __init__(self, status: int, code: str, message: str, field: str, request_id: str) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status, self.code, self.field, self.request_id = status, code, field, request_id


@dataclass(frozen=True)
class Result:
    """Whether the user is licensed. `reason` is an open set: each means not licensed. `status` is that
    of the response that was no answer, if there was one."""

    valid: bool
    reason: str | None
    license: dict[str, Any] | None
    features: tuple[str, ...]
    source: Source
    status: int | None = None

    def __bool__(self) -> bool:
        return self.valid

    def has(self, feature: str) -> bool:
        """Whether the user may use the feature. If the policy fails open, each one."""
        return self.valid and (self.source == "policy" or feature in self.features)


class Store(Protocol):
    """Keeps last answers across restarts. The text contains no secret."""

    def get(self, key: str, /) -> str | None: ...
    def set(self, key: str, value: str, /) -> None: ...


class FileStore:
    """A store in a folder, with a file for each user."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def get(self, key: str, /) -> str | None:
        try:
            return self._path(key).read_text()
        except FileNotFoundError:
            return None

    def set(self, key: str, value: str, /) -> None:
        with tempfile.NamedTemporaryFile("w", dir=self._folder, delete=False) as draft:
            draft.write(value)
        os.replace(draft.name, self._path(key))

    def _path(self, key: str) -> Path:
        return self._folder / f"{hashlib.sha256(key.encode()).hexdigest()}.json"


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
    pause: float
    fresh: float


@dataclass
class Outage:
    """The outage of a client, if there is one: since when, and when licd is asked again. Meanwhile
    nobody waits for it, and then one check does."""

    since: float | None = None
    until: float = 0.0

    def skips(self, t: Timing) -> bool:
        if self.since is None:
            return False
        if t.clock() < self.until:
            return True
        self.until = t.clock() + t.pause
        return False

    def begin(self, t: Timing) -> None:
        self.since = t.clock() if self.since is None else self.since
        self.until = t.clock() + t.pause

    def end(self) -> None:
        self.since = None


def request(t: Timing, method: str, path: str, body: Any, key: str | None) -> Flow[dict[str, Any]]:
    """Returns the envelope of a success. Retries only what is safe to repeat."""
    end = t.clock() + t.deadline
    safe = method == "GET" or path in (VALIDATE, CLAIM, RELEASE, LEASE) or key is not None
    problem, status = "no time left", None
    for attempt in range(1, MAX_ATTEMPTS + 1):
        left = end - t.clock()
        if left <= 0:
            raise NoAnswer(problem, status)
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
            problem, status = f"unusable response with status {got.status}", got.status
            retry = safe and not 300 <= got.status < 400
            if got.retry_after and got.retry_after.isascii() and got.retry_after.isdigit():
                wait = int(got.retry_after[:9]) + 0.1 * t.jitter()
        else:
            problem, status = got or "no response", None
        if not retry or attempt == MAX_ATTEMPTS or t.clock() + wait >= end:
            raise NoAnswer(problem, status)
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
    token: str | None = None
    # Time by the monotonic clock, which users cannot set. Another process cannot use it.
    ticked: float | None = None

    def age(self, t: Timing) -> float:
        """The time since it was seen. Moving the clock, in either direction, uses up time too."""
        ticks = 0.0 if self.ticked is None else t.clock() - self.ticked
        return max(abs(t.now() - self.seen), ticks)

    def now(self, t: Timing) -> _Kept:
        """The same, as it is left now."""
        return _Kept(self.result, t.now(), self.left - self.age(t), self.token, t.clock())


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
                self._store.set(key, json.dumps(asdict(replace(kept, ticked=None))))
            except Exception as error:  # noqa: BLE001 A store never fails a check.
                log.warning("the last answer is not stored: %s", type(error).__name__)

    def get(self, key: str) -> _Kept | None:
        if key not in self._kept and self._store:
            try:
                text = self._store.get(key)
                if text is not None:
                    kept = _Kept(**json.loads(text))
                    _result({"data": kept.result})
                    kept.seen, kept.left = float(kept.seen), float(kept.left)
                    return kept
            except Exception as error:  # noqa: BLE001 A store never fails a check.
                log.warning("the last answer is not read: %s", type(error).__name__)
        return self._kept.get(key)


def validate(t: Timing, user: str, product: str | None) -> Flow[dict[str, Any]]:
    """Returns the data of a validation, of the form that the interface promises."""
    body = {"userId": user} | ({"productId": product} if product else {})
    return (yield from _ask(t, VALIDATE, body))


def _ask(t: Timing, path: str, body: dict[str, Any]) -> Flow[dict[str, Any]]:
    envelope = yield from request(t, "POST", path, body, None)
    _result(envelope)
    data: dict[str, Any] = envelope["data"]
    return data


def claim(
    t: Timing, answers: Answers, policy: Policy, user: str, key: str, product: str | None
) -> Flow[Result]:
    """Claims with a license key. The answer takes the place of the last one about the user."""
    body = {"userId": user, "key": key} | ({"productId": product} if product else {})
    data = yield from _ask(t, CLAIM, body)
    _keep(t, answers, policy, user, product, data)
    if isinstance(policy, Leases) and data["valid"]:
        try:
            question = {"userId": user, "productId": product}
            leased = yield from _ask(t, LEASE, _with_wishes(policy, question))
            _keep(t, answers, policy, user, product, leased)
        except LicdError as error:
            log.warning("licd issued no lease after the claim: %s", error)
    return _with_feature(_result({"data": data}), None, "fresh")


def _keep(
    t: Timing,
    answers: Answers,
    policy: Policy,
    user: str,
    product: str | None,
    data: dict[str, Any],
) -> None:
    key = json.dumps([product, user])
    if isinstance(policy, Leases):
        kept = answers.get(key)
        kept = kept.now(t) if kept else _Kept(data, t.now(), 0.0, None, t.clock())
        kept.result = {name: value for name, value in data.items() if name != "lease"}
        if not data["valid"]:
            kept.left, kept.token = 0.0, None
        elif "lease" in data:
            _take(policy, kept, user, product or "", data)
        answers.put(key, kept)
    elif t.fresh > 0 or isinstance(policy, LastAnswer):
        left = policy.hours * 3600 if isinstance(policy, LastAnswer) else 0.0
        # An answer in the days of grace has an end in the past.
        if (end := _end(data)) is not None and end > t.now():
            left = min(left, end - t.now())
        answers.put(key, _Kept(data, t.now(), left, None, t.clock()))


def _take(policy: Leases, kept: _Kept, user: str, product: str, data: dict[str, Any]) -> None:
    """Takes a lease that licd has sent just now. The former one stays unless the new one counts."""
    try:
        token = data["lease"]["token"]
        kept.left, kept.token = verify(policy, token, user, product).lasts, token
    except NotALease as error:
        log.error("the lease of licd does not count here: %s", error)
    except (KeyError, TypeError):
        log.warning("licd issued no lease: %s", data.get("leaseReason"))


def _leased(policy: Leases, kept: _Kept | None, user: str, product: str | None) -> Lease | None:
    """The lease that is kept, whose store may have been changed."""
    try:
        return verify(policy, kept.token, user, product or "") if kept and kept.token else None
    except NotALease as error:
        log.warning("the stored lease does not count: %s", error)
        return None


def install(
    t: Timing, answers: Answers, policy: Policy, user: str, product: str | None, token: str
) -> Result:
    """Takes a lease from a file, which may be old."""
    if not isinstance(policy, Leases) or not product:
        raise ValueError("a lease needs the policy Leases and a product")
    try:
        lease = verify(policy, token.strip(), user, product)
    except NotALease as error:
        raise LicdError(f"this lease does not count: {error}") from None
    left = lease.expires_at - max(lease.issued_at, t.now())
    kept = _Kept(_answer(lease), t.now(), left, token.strip(), t.clock())
    if lease.has_ended(t.now()) or left <= 0:
        raise LicdError("this lease does not count: it has ended")
    answers.put(json.dumps([product, user]), kept)
    return _with_feature(_result({"data": kept.result}), None, "lease")


def _answer(lease: Lease) -> dict[str, Any]:
    """A lease in the form of an answer."""
    license = {
        "id": lease.license_id, "planId": lease.plan_id, "expiresAt": lease.license_expires_at,
    }  # fmt: skip
    return {"valid": True, "license": license, "features": list(lease.features)}


def release(t: Timing, answers: Answers, user: str, product: str | None) -> Flow[int]:
    """Gives back floating seats, and returns how many. The last answer does not count any more."""
    body = {"userId": user} | ({"productId": product} if product else {})
    key = json.dumps([product, user])
    kept = answers.get(key)
    if kept:
        checked_at = (kept.result.get("activation") or {}).get("lastCheckedAt")
        body |= {"checkedAt": checked_at} if checked_at else {}
        if kept.token is None:
            answers.put(key, _Kept(kept.result, 0.0, 0.0))
    envelope = yield from request(t, "POST", RELEASE, body, None)
    return len(envelope["data"].get("released", []))


def licensed(
    t: Timing,
    outage: Outage,
    answers: Answers,
    policy: Policy,
    user: str,
    feature: str | None,
    product: str | None,
) -> Flow[Result]:
    if isinstance(policy, Leases) and not product:
        raise ValueError("leases need a product")
    kept = answers.get(json.dumps([product, user]))
    if kept and _is_fresh(t, kept):
        return _with_feature(_result({"data": kept.result}), feature, "reused")
    without = (t, outage, answers, policy, user, product, feature)
    if outage.skips(t):
        return _fallback(*without, None)
    try:
        body = {"userId": user} | ({"productId": product} if product else {})
        data = yield from _ask(t, *_question(t, policy, kept, user, product, body))
    except NoAnswer as error:
        log.warning("licd gave no answer: %s", error)
        outage.begin(t)
        return _fallback(*without, error.status)
    except ApiError as error:
        if error.status in (400, 413, 422) and error.code != "unknown":
            raise
        # The key or the address is wrong, or a proxy answered: that says nothing about the user.
        log.error("licd cannot be asked, and the outage policy decides: %s", error)
        outage.begin(t)
        return _fallback(*without, error.status)
    outage.end()
    _keep(t, answers, policy, user, product, data)
    return _with_feature(_result({"data": data}), feature, "fresh")


def _question(
    t: Timing,
    policy: Policy,
    kept: _Kept | None,
    user: str,
    product: str | None,
    body: dict[str, Any],
) -> tuple[str, dict[str, Any]]:
    """The request: for a lease, if that is the policy and half of the last one is over, at a moment
    that differs among machines."""
    if not isinstance(policy, Leases):
        return VALIDATE, body
    lease = _leased(policy, kept, user, product)
    if kept and lease and kept.left - kept.age(t) > lease.lasts * (0.5 - 0.1 * t.jitter()):
        return VALIDATE, body
    return LEASE, _with_wishes(policy, body)


def _with_wishes(policy: Leases, body: dict[str, Any]) -> dict[str, Any]:
    wishes = {"ttlSeconds": policy.ttl, "device": policy.device}
    return body | {name: value for name, value in wishes.items() if value is not None}


def _is_fresh(t: Timing, kept: _Kept) -> bool:
    """A refusal is always asked about again: the user may have bought a license."""
    end = _end(kept.result)
    is_over = end is not None and kept.seen < end <= t.now()
    # An application that validates a floating seat more rarely loses it to another user.
    longest = min(t.fresh, kept.result.get("checkAfterSeconds") or t.fresh)
    return kept.result["valid"] is True and not is_over and abs(t.now() - kept.seen) < longest


def _fallback(
    t: Timing,
    outage: Outage,
    answers: Answers,
    policy: Policy,
    user: str,
    product: str | None,
    feature: str | None,
    status: int | None,
) -> Result:
    if isinstance(policy, LastAnswer | Leases):
        key = json.dumps([product, user])
        kept = answers.get(key)
        if kept:
            kept = kept.now(t)
            answers.put(key, kept)
            result = _result({"data": kept.result})
            if not result.valid:
                return _with_feature(result, feature, "last answer", status)
            if isinstance(policy, LastAnswer) and kept.left > 0:
                return _with_feature(result, feature, "last answer", status)
            lease = _leased(policy, kept, user, product) if isinstance(policy, Leases) else None
            if lease and kept.left > 0 and not lease.has_ended(t.now()):
                result = _result({"data": _answer(lease)})
                return _with_feature(result, feature, "lease", status)
        policy = policy.otherwise
    lasts = 0.0 if outage.since is None else t.clock() - outage.since
    is_open = isinstance(policy, FailOpen) and lasts <= policy.hours * 3600
    return Result(is_open, None if is_open else "no_answer", None, (), "policy", status)


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


def _with_feature(
    result: Result, feature: str | None, source: Source, status: int | None = None
) -> Result:
    lacks = result.valid and feature is not None and feature not in result.features
    reason = "missing_feature" if lacks else result.reason
    return Result(
        result.valid and not lacks, reason, result.license, result.features, source, status
    )
