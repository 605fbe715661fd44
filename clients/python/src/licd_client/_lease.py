"""Whether a lease counts: its signature, by the keys of the program, and what it says."""

from __future__ import annotations

from dataclasses import dataclass

from ._policy import Leases

TYPE = "licd-lease+jwt"
# How far clocks may differ, in seconds.
TOLERANCE = 300


@dataclass(frozen=True)
class Lease:
    """What a lease says; times in seconds since 1970."""

    issued_at: float
    expires_at: float
    license_id: str
    plan_id: str
    features: tuple[str, ...]
    license_expires_at: str | None

    @property
    def lasts(self) -> float:
        return self.expires_at - self.issued_at

    def has_ended(self, now: float) -> bool:
        return now >= self.expires_at + TOLERANCE


class NotALease(Exception):
    """Why a text is no lease for this user, product and machine."""


def verify(policy: Leases, token: str, user: str, product: str) -> Lease:
    """Raises NotALease unless one of the keys has signed it. Its end is for the caller to compare:
    `issued_at` is not compared, as the machine's clock may be slow."""
    import jwt  # The policy has checked that it is there.

    try:
        header = jwt.get_unverified_header(token)
        [key] = [key for key in policy.keys["keys"] if key["kid"] == header.get("kid")]
        claims = jwt.decode(
            token,
            jwt.PyJWK(key, "ES256").key,
            algorithms=["ES256"],
            audience=product,
            options={
                "require": ["sub", "aud", "iat", "exp"],
                "verify_exp": False,
                "verify_iat": False,
            },
        )
        if header.get("typ") != TYPE:
            raise NotALease("it is of another type")
        if claims["sub"] != user:
            raise NotALease("it is for another user")
        # A lease for any machine is one that was copied, for a program that names its own.
        if policy.device is not None and claims.get("device") != policy.device:
            raise NotALease("it is for another machine")
        return Lease(
            float(claims["iat"]),
            float(claims["exp"]),
            claims["licenseId"],
            claims["planId"],
            tuple(claims["features"]),
            claims["licenseExpiresAt"],
        )
    except (jwt.PyJWTError, KeyError, TypeError, ValueError) as error:
        raise NotALease(f"{type(error).__name__}: {error}") from None
