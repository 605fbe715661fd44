"""The requests that a shop needs, for the sync and the async client alike. All others go through
`request`."""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar
from urllib.parse import quote, urlencode

R = TypeVar("R")
Status = Literal["active", "suspended", "revoked", "expired"]
LICENSES = "/api/v1/admin/licenses"


class AdminCalls(Generic[R]):
    """`idempotency_key` names a change, such as that of an order: repeating it has no effect."""

    def request(
        self, method: str, path: str, body: Any = None, *, idempotency_key: str | None = None
    ) -> Any:
        raise NotImplementedError

    def create_user(self, user: str, *, idempotency_key: str | None = None, **fields: Any) -> R:
        body = {"externalId": user, **fields}
        path = "/api/v1/admin/users"
        return self._typed("POST", path, body, idempotency_key)

    def create_license(
        self, plan_id: str, *, idempotency_key: str | None = None, **fields: Any
    ) -> R:
        return self._typed("POST", LICENSES, {"planId": plan_id, **fields}, idempotency_key)

    def assign(self, license_id: str, user: str, *, idempotency_key: str | None = None) -> R:
        path = f"{LICENSES}/{quote(license_id, safe='')}/assign"
        return self._typed("POST", path, {"userId": user}, idempotency_key)

    def unassign(self, license_id: str, user: str) -> R:
        path = f"{LICENSES}/{quote(license_id, safe='')}/assign?{urlencode({'userId': user})}"
        return self._typed("DELETE", path, None, None)

    def set_status(self, license_id: str, status: Status) -> R:
        path = f"{LICENSES}/{quote(license_id, safe='')}/status"
        return self._typed("PATCH", path, {"status": status}, None)

    def extend(self, license_id: str, expires_at: str) -> R:
        """Sets the time from which the license is expired, in RFC 3339."""
        path = f"{LICENSES}/{quote(license_id, safe='')}"
        return self._typed("PATCH", path, {"expiresAt": expires_at}, None)

    def _typed(self, method: str, path: str, body: Any, key: str | None) -> R:
        result: R = self.request(method, path, body, idempotency_key=key)
        return result
