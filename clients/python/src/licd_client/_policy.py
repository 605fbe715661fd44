"""What counts without an answer: the outage policies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class FailClosed:
    """Without an answer, the user is not licensed."""


@dataclass(frozen=True)
class FailOpen:
    """Without an answer, the user is licensed for everything, for this many hours of an outage."""

    hours: float = 72


@dataclass(frozen=True)
class LastAnswer:
    """Without an answer, the last one counts for this many hours, and then `otherwise`."""

    hours: float
    otherwise: FailClosed | FailOpen = FailClosed()


@dataclass(frozen=True)
class Leases:
    """Without an answer, the user's lease counts until it ends, and then `otherwise`. `keys` is what
    `licctl signing-keys export` prints, as a part of the program. `device` is the machine as the
    program recognizes it: a lease for another one does not count. `ttl`, in seconds, is how long a
    lease is to last; licenses with floating seats require it. Needs `licd-client[offline]`."""

    keys: Mapping[str, Any] = field(repr=False)
    device: str | None = None
    ttl: int | None = None
    otherwise: FailClosed | FailOpen = FailClosed()

    def __post_init__(self) -> None:
        try:
            import jwt  # noqa: F401 Who uses no leases need not have it.
        except ImportError:
            raise ImportError("leases need PyJWT: pip install 'licd-client[offline]'") from None
        if not self.keys.get("keys"):
            raise ValueError("keys must be what `licctl signing-keys export` prints")


Policy = FailClosed | FailOpen | LastAnswer | Leases
