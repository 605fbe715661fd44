"""Leases: with a running licd, without one, and with tokens that must not count."""

import base64
import itertools
import json
import os
import time

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from licd_client import FailClosed, FailOpen, FileStore, Leases, Licd, LicdError
from licd_client._lease import NotALease, verify

URL, KEY = os.environ["LICD_URL"], os.environ["LICD_KEY"]
DAY, HOUR = 86400, 3600
SIGNING_KEYS = "/api/v1/admin/signing-keys"
names = (f"user{n}" for n in itertools.count())


class Machine:
    """A program on a machine, whose clock and network tests move."""

    def __init__(self, folder=None, *, device="desk", keys=None, **options):
        self.time, self.ticks = time.time(), 0.0
        store = FileStore(folder) if folder else None
        policy = Leases(keys or embedded(), device, **options)
        self.client = Licd(
            URL, KEY, outage=policy, product=sold()[0], store=store, now=lambda: self.time,
            clock=lambda: self.ticks, jitter=lambda: 0.5, pause=0, timeout=5,
        )  # fmt: skip

    def ask(self, user, feature=None):
        result = self.client.licensed(user, feature)
        return "valid" if result.valid else result.reason, result.source

    def unplug(self):
        self.client._url = "http://127.0.0.1:9"

    def plug_in(self):
        self.client._url = URL

    def kept(self, user):
        return self.client._answers.get(json.dumps([sold()[0], user]))


def admin():
    return Licd(URL, KEY, outage=FailClosed())


def embedded():
    made = admin().request("GET", "/api/v1/signing-keys")
    if not made:
        admin().request("POST", SIGNING_KEYS)
        made = admin().request("GET", "/api/v1/signing-keys")
    return {"keys": [key["jwk"] for key in made]}


_sold = []


def sold():
    """A product, and its plan that offers leases of a day."""
    if not _sold:
        product = admin().request("POST", "/api/v1/admin/products", {"name": "Reef"})["id"]
        terms = {"productId": product, "name": "Diver", "features": ["sso"]}
        terms["maxLeaseSeconds"] = DAY
        _sold.extend([product, admin().request("POST", "/api/v1/admin/plans", terms)["id"]])
    return _sold


def licensed_user():
    user = next(names)
    license = admin().create_license(sold()[1])["id"]
    admin().assign(license, user)
    return user, license


def test_a_lease_counts_without_the_network_until_it_ends(tmp_path):
    user, _ = licensed_user()
    machine = Machine(tmp_path)
    assert machine.ask(user, "sso") == ("valid", "fresh")
    machine.unplug()
    machine.time += DAY - HOUR
    assert machine.ask(user, "sso") == ("valid", "lease")
    assert machine.ask(user, "other") == ("missing_feature", "lease")
    started_again = Machine(tmp_path)
    started_again.time = machine.time
    started_again.unplug()
    assert started_again.ask(user) == ("valid", "lease")
    copied = Machine(tmp_path, device="laptop")
    copied.unplug()
    assert copied.ask(user) == ("no_answer", "policy")
    started_again.time += HOUR
    assert started_again.ask(user) == ("no_answer", "policy")


def test_a_claim_fetches_a_lease():
    user = next(names)
    license = admin().create_license(sold()[1])["id"]
    made = admin().request("POST", f"/api/v1/admin/licenses/{license}/keys", {})
    machine = Machine()
    assert machine.client.claim(user, made["key"])
    machine.unplug()
    assert machine.ask(user, "sso") == ("valid", "lease")


def test_moving_the_clock_gains_no_time():
    user, _ = licensed_user()
    machine = Machine()
    machine.ask(user)
    machine.unplug()
    for _ in range(23):
        machine.time -= HOUR
        assert machine.ask(user) == ("valid", "lease")
    machine.time -= HOUR
    assert machine.ask(user) == ("no_answer", "policy")


def test_a_clock_that_stands_still_gains_no_time():
    user, _ = licensed_user()
    machine = Machine()
    machine.ask(user)
    machine.unplug()
    machine.ticks += DAY - 1
    assert machine.ask(user) == ("valid", "lease")
    machine.ticks += 1
    assert machine.ask(user) == ("no_answer", "policy")


def test_one_boot_in_2036_ends_one_lease_and_nothing_more():
    user, _ = licensed_user()
    machine = Machine()
    machine.ask(user)
    machine.unplug()
    right, machine.time = machine.time, 2_100_000_000.0
    assert machine.ask(user) == ("no_answer", "policy")
    machine.time = right
    assert machine.ask(user) == ("no_answer", "policy"), "what was counted stays counted"
    machine.plug_in()
    assert machine.ask(user) == ("valid", "fresh")
    machine.unplug()
    assert machine.ask(user) == ("valid", "lease"), "the next lease starts its own count"


def test_a_slow_clock_does_not_matter():
    user, _ = licensed_user()
    machine = Machine()
    machine.time -= 20 * 365 * DAY
    machine.ask(user)
    machine.unplug()
    machine.time += DAY - 1
    assert machine.ask(user) == ("valid", "lease")
    machine.time += 1
    assert machine.ask(user) == ("no_answer", "policy")


def test_it_is_renewed_in_the_second_half_and_before_that_only_validated():
    user, _ = licensed_user()
    machine = Machine()
    machine.ask(user)
    first = machine.kept(user).token
    machine.time += 12 * HOUR
    machine.ask(user)
    assert machine.kept(user).token == first
    machine.time += 2 * HOUR
    assert machine.ask(user) == ("valid", "fresh")
    kept = machine.kept(user)
    assert kept.token != first and kept.left == DAY


def test_a_lease_by_keys_that_the_program_lacks_replaces_none(caplog):
    user, _ = licensed_user()
    machine = Machine()
    machine.ask(user)
    first = machine.kept(user).token
    for _ in range(2):
        keys = admin().request("GET", "/api/v1/signing-keys")
        [standby] = [key["id"] for key in keys if key["state"] == "standby"]
        admin().request("POST", f"{SIGNING_KEYS}/rotate", {"standby": standby})
    machine.time += 14 * HOUR
    assert machine.ask(user) == ("valid", "fresh")
    assert machine.kept(user).token == first
    assert "does not count here" in caplog.text
    machine.unplug()
    assert machine.ask(user) == ("valid", "lease")


def test_an_answer_rules_over_a_lease(tmp_path):
    user, license = licensed_user()
    machine = Machine(tmp_path)
    machine.ask(user)
    admin().set_status(license, "suspended")
    assert machine.ask(user) == ("suspended", "fresh")
    assert machine.kept(user).token is None
    machine.unplug()
    assert machine.ask(user) == ("suspended", "last answer")
    machine.plug_in()
    admin().set_status(license, "active")
    assert machine.ask(user) == ("valid", "fresh") and machine.kept(user).token


def test_no_answer_is_no_refusal():
    user, _ = licensed_user()
    machine = Machine()
    machine.ask(user)
    machine.client._headers["Authorization"] = "Bearer sk_live_wrong"
    assert machine.ask(user) == ("valid", "lease")


def test_a_license_without_leases_leaves_it_to_the_other_policy(caplog):
    product, _ = sold()
    plan = admin().request("POST", "/api/v1/admin/plans", {"productId": product, "name": "Day"})
    license = admin().create_license(plan["id"])["id"]
    user = next(names)
    admin().assign(license, user)
    machine = Machine(otherwise=FailOpen())
    assert machine.ask(user) == ("valid", "fresh")
    assert "not_offered" in caplog.text
    machine.unplug()
    assert machine.ask(user) == ("valid", "policy")


def test_a_file_licenses_a_machine_that_never_had_a_network(tmp_path):
    user, _ = licensed_user()
    body = {"userId": user, "productId": sold()[0], "ttlSeconds": 30 * DAY, "device": "desk"}
    token = admin().request("POST", "/api/v1/lease", body)["lease"]["token"]
    machine = Machine(tmp_path)
    machine.unplug()
    assert machine.ask(user) == ("no_answer", "policy")
    for wrong in (token[:-4] + "AAAA", "", token.replace(".", ",")):
        with pytest.raises(LicdError, match="does not count"):
            machine.client.install_lease(user, wrong)
    with pytest.raises(LicdError, match="another machine"):
        Machine(device="laptop").client.install_lease(user, token)
    machine.time += 20 * DAY
    assert machine.client.install_lease(user, token + "\n").has("sso")
    machine.time += 10 * DAY - HOUR
    assert machine.ask(user) == ("valid", "lease")
    machine.time += HOUR
    assert machine.ask(user) == ("no_answer", "policy")
    with pytest.raises(LicdError, match="has ended"):
        machine.client.install_lease(user, token)


def test_a_policy_of_leases_needs_keys_and_a_product():
    for keys in ({}, {"keys": []}):
        with pytest.raises(ValueError, match="keys must be"):
            Leases(keys)
    with Licd(URL, KEY, outage=Leases(embedded())) as client, pytest.raises(ValueError):
        client.licensed("ada")


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def signer(kid):
    key = ec.generate_private_key(ec.SECP256R1())
    point = key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    x, y = b64(point[1:33]), b64(point[33:])
    return key, {"kty": "EC", "crv": "P-256", "x": x, "y": y, "kid": kid, "alg": "ES256"}


def test_what_is_no_lease_for_this_user_product_and_machine_does_not_count():
    key, jwk = signer("k")
    policy = Leases({"keys": [jwk, signer("other")[1]]}, "desk")
    claims = {
        "sub": "ada", "aud": "prd_1", "iat": 1, "exp": 2, "device": "desk", "licenseId": "lic_1",
        "planId": "pln_1", "features": [], "licenseExpiresAt": None,
    }  # fmt: skip
    header = {"typ": "licd-lease+jwt", "kid": "k"}

    def token(change=None, head=None, algorithm="ES256", with_key=key):
        said = {name: value for name, value in (claims | (change or {})).items() if value != ""}
        return jwt.encode(said, with_key, algorithm, headers=header | (head or {}))

    good = token()
    assert verify(policy, good, "ada", "prd_1").lasts == 1
    assert verify(policy, token({"iat": 4e9}), "ada", "prd_1"), "the clock may be slow"
    wrong = [
        token({"sub": "bob"}), token({"aud": "prd_2"}), token({"device": "laptop"}),
        token({"device": ""}), token({"exp": ""}), token({"iat": ""}), token({"aud": ""}),
        token(head={"typ": "JWT"}), token(head={"kid": "other"}), token(head={"kid": "none"}),
        token(with_key=signer("k")[0]), token(algorithm="none", with_key=None),
        token(algorithm="HS256", with_key=jwk["x"]),
        good.rsplit(".", 1)[0] + "." + b64(bytes(64)), good.rsplit(".", 1)[0] + ".",
    ]  # fmt: skip
    # The last character has bits that no decoder of Python reads.
    changed = [good[:at] + ("A" if good[at] != "A" else "B") + good[at + 1 :]
               for at in range(len(good) - 1)]  # fmt: skip
    for text in wrong + changed:
        with pytest.raises(NotALease):
            verify(policy, text, "ada", "prd_1")
