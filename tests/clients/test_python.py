"""The generated Python client talks to licd through every operation. `run` starts licd and sets
LICD_URL and LICD_KEY, and LIMITED_LICD_… for one that takes a single request."""

import json
import os
import re
import threading
import time
import uuid
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

import licd_api
from licd_api import exceptions, models

DOCUMENT = Path(__file__).parents[2] / "docs" / "openapi.json"

called = set()


class Recorded:
    """A class of the client, which notes the operations that are called."""

    def __init__(self, api):
        self._api = api

    def __getattr__(self, name):
        called.add(name.removesuffix("_with_http_info"))
        return getattr(self._api, name)


class Client:
    def __init__(self, url, key, **options):
        configuration = licd_api.Configuration(host=url, access_token=key, **options)
        client = licd_api.ApiClient(configuration)
        self.validation = Recorded(licd_api.ValidationApi(client))
        self.products = Recorded(licd_api.ProductsApi(client))
        self.plans = Recorded(licd_api.PlansApi(client))
        self.licenses = Recorded(licd_api.LicensesApi(client))
        self.users = Recorded(licd_api.UsersApi(client))
        self.license_keys = Recorded(licd_api.LicenseKeysApi(client))
        self.keys = Recorded(licd_api.KeysApi(client))
        self.signing_keys = Recorded(licd_api.SigningKeysApi(client))
        self.webhooks = Recorded(licd_api.WebhooksApi(client))
        self.events = Recorded(licd_api.EventsApi(client))
        self.refusals = Recorded(licd_api.RefusalsApi(client))
        self.statistics = Recorded(licd_api.StatisticsApi(client))
        self.health = Recorded(licd_api.HealthApi(client))

    def product(self):
        return self.products.create_product(models.CreateProduct(name="Studio")).data

    def plan(self, **terms):
        terms = {"product_id": self.product().id, "name": "Team", **terms}
        return self.plans.create_plan(models.CreatePlan(**terms)).data

    def license(self, **terms):
        return self.licenses.create_license(
            models.CreateLicense(plan_id=self.plan(**terms).id)
        ).data

    def assign(self, license, user):
        return self.licenses.assign_license(license.id, models.AssignLicense(user_id=user)).data

    def validate(self, user, product=None):
        request = models.Validate(user_id=user, product_id=product)
        return self.validation.validate(request).data


@pytest.fixture(scope="module")
def licd():
    return Client(os.environ["LICD_URL"], os.environ["LICD_KEY"])


def find(look):
    """Waits for what licd writes some seconds late."""
    end = time.monotonic() + 60
    while not (found := look()):
        assert time.monotonic() < end, "in vain"
        time.sleep(0.05)
    return found


def refused(error, call, *arguments, **options):
    """Returns the failure of a call."""
    with pytest.raises(error) as raised:
        call(*arguments, **options)
    failure = raised.value.data
    assert isinstance(failure, models.Failure)
    assert failure.success is False
    assert failure.request_id == raised.value.headers["X-Request-Id"]
    return failure, raised.value


def test_health():
    client = Client(os.environ["LICD_URL"], None)
    assert client.health.get_health().data.status == "ok"
    assert client.health.get_readiness().data.status == "ok"


def test_products(licd):
    product = licd.product()
    assert isinstance(product, models.Product)
    assert (product.name, product.description) == ("Studio", None)
    assert product.created_at.tzinfo and product.created_at == product.updated_at
    change = models.UpdateProduct(name="Studio 2", description="For teams")
    changed = licd.products.update_product(product.id, change).data
    assert (changed.name, changed.description) == ("Studio 2", "For teams")
    cleared = models.UpdateProduct(clear=["description"])
    assert licd.products.update_product(product.id, cleared).data.description is None
    assert licd.products.get_product(product.id).data.name == "Studio 2"
    assert licd.products.delete_product(product.id).data.name == "Studio 2"


def test_pages(licd):
    ids = [licd.product().id for _ in range(3)]
    whole = licd.products.list_products()
    assert isinstance(whole, models.ProductList) and whole.success is True
    assert whole.next_cursor is None
    assert [product.id for product in whole.data][-3:] == ids
    page = licd.products.list_products(limit=2, after=whole.data[-4].id if whole.data[3:] else None)
    assert [product.id for product in page.data] == ids[:2]
    assert [
        product.id for product in licd.products.list_products(after=page.next_cursor).data
    ] == ids[2:]


def test_plans(licd):
    plan = licd.plan(max_seats=5, expires_in_days=365, features=["sso", "export"])
    assert isinstance(plan, models.Plan)
    assert (plan.max_seats, plan.expires_in_days, plan.features) == (5, 365, ["sso", "export"])
    change = models.UpdatePlan(features=[], clear=["maxSeats"])
    changed = licd.plans.update_plan(plan.id, change).data
    assert (changed.max_seats, changed.expires_in_days, changed.features) == (None, 365, [])
    assert licd.plans.get_plan(plan.id).data == changed
    assert licd.plans.list_plans(product_id=plan.product_id).data == [changed]
    assert licd.plans.delete_plan(plan.id).data == changed


def test_licenses(licd):
    plan = licd.plan(max_seats=2)
    notes = {"name": "Acme Ltd", "metadata": {"order": 7}}
    new = models.CreateLicense(plan_id=plan.id, expires_in_days=30, **notes)
    license = licd.licenses.create_license(new).data
    assert isinstance(license, models.License)
    assert (license.status, license.max_seats) == (models.Status.ACTIVE, 2)
    assert license.expires_at - license.created_at == timedelta(days=30)
    with_seats = licd.licenses.get_license(license.id).data
    assert isinstance(with_seats, models.LicenseWithSeats)
    assert (with_seats.seats.used, with_seats.seats.allowed) == (0, 2)
    assert (with_seats.name, with_seats.metadata) == ("Acme Ltd", {"order": 7})
    listed = licd.licenses.list_licenses(
        plan_id=plan.id,
        status=models.Status.ACTIVE,
        ends_before=license.expires_at + timedelta(1),
    )
    assert isinstance(listed, models.LicenseList) and listed.data == [with_seats]
    totals = licd.licenses.get_license_totals(plan_id=plan.id).data
    assert (totals.licenses, totals.seats, totals.held, totals.complete) == (1, 2, 0, True)
    year = models.RenewLicense.from_dict({"for": "1y"})
    renewed = licd.licenses.renew_license(license.id, year).data
    assert renewed.expires_at - license.expires_at >= timedelta(days=365)
    never = models.UpdateLicense(clear=["expiresAt", "maxSeats"])
    changed = licd.licenses.update_license(license.id, never).data
    assert (changed.expires_at, changed.max_seats) == (None, None)
    suspended = licd.licenses.set_license_status(
        license.id, models.SetStatus(status="suspended")
    ).data
    assert suspended.status is models.Status.SUSPENDED
    assert licd.licenses.delete_license(license.id).data == suspended


def test_users(licd):
    new = models.CreateUser(
        external_id="grace", email="grace@example.com", metadata={"team": {"n": 1}}
    )
    created = licd.users.create_user_with_http_info(new)
    assert (created.status_code, created.data.data.metadata) == (201, {"team": {"n": 1}})
    known = licd.users.create_user_with_http_info(
        models.CreateUser(external_id="grace", name="Grace")
    )
    user = known.data.data
    assert isinstance(user, models.User)
    assert (known.status_code, user.email, user.name) == (200, "grace@example.com", "Grace")
    change = models.UpdateUser(clear=["metadata", "email"])
    changed = licd.users.update_user(user.id, change).data
    assert (changed.metadata, changed.email) == (None, None)
    assert licd.users.get_user(user.id).data == changed
    assert licd.users.list_users(external_id="grace").data == [changed]
    forget = models.ForgetUser(external_id=True)
    forgotten = licd.users.forget_user(user.id, forget_user=forget).data
    assert forgotten.external_id.startswith("forgotten-")
    assert "backup" in [it.type for it in forgotten.remaining]
    gone = licd.users.delete_user(user.id).data
    assert (gone.external_id, gone.name) == (forgotten.external_id, None)
    assert licd.users.list_users(search="grace").data == []


def test_a_valid_user(licd):
    license = licd.license(max_seats=1, features=["sso", "export"])
    request = models.AssignLicense(user_id="ada", metadata={"by": "test"})
    first = licd.licenses.assign_license_with_http_info(license.id, request)
    again = licd.licenses.assign_license_with_http_info(
        license.id, models.AssignLicense(user_id="ada")
    )
    assert (first.status_code, again.status_code) == (201, 200)
    assert isinstance(again.data.data, models.Assignment)
    assert again.data.data.metadata == {"by": "test"}

    answer = licd.validate("ada", license.product_id)
    assert isinstance(answer, models.Validation)
    assert (answer.valid, answer.features) == (True, ["sso", "export"])
    assert answer.license == license
    assert answer.activation.license_id == license.id
    assert isinstance(answer.activation.last_checked_at, datetime)

    usage = licd.licenses.get_license_usage(license.id, limit=1)
    assert isinstance(usage, models.UsagePage)
    assert (usage.data.total_activations, usage.data.active_seats) == (1, 1)
    assert [seat.external_id for seat in usage.data.activations] == ["ada"]

    page = licd.licenses.list_assignments(license.id, limit=1)
    [assigned] = page.data
    assert isinstance(assigned, models.LicenseAssignment) and page.next_cursor is None
    assert (assigned.external_id, assigned.metadata) == ("ada", {"by": "test"})
    assert assigned.activation == answer.activation

    explanation = licd.validation.explain(models.Explain(user_id="ada")).data
    assert isinstance(explanation, models.Explanation)
    assert (explanation.valid, explanation.reason, explanation.user.external_id) == (
        True,
        None,
        "ada",
    )
    [explained] = [it for it in explanation.licenses if it.license.id == license.id]
    assert (explained.verdict, explained.seats_used) == ("valid", 1)
    assert explained.activation.id == answer.activation.id

    licd.assign(license, "joan")
    refusal = licd.validate("joan")
    assert (refusal.valid, refusal.reason) == (False, "exceeded_seats")


def test_an_invalid_user(licd):
    answer = licd.validation.validate(models.Validate(user_id="nobody"))
    assert isinstance(answer, models.ValidationResponse) and answer.success is True
    refusal = answer.data
    assert isinstance(refusal, models.Validation)
    assert (refusal.valid, refusal.reason) == (False, "no_license")
    unknown = licd.validation.explain(models.Explain(user_id="unknown")).data
    assert (unknown.reason, unknown.user, unknown.licenses) == ("user_not_found", None, [])


@pytest.mark.parametrize("user", ["a/b c?ü", "%2F", "a+b"])
def test_unassigning_by_path(licd, user):
    license = licd.license()
    assignment = licd.assign(license, user)
    gone = licd.licenses.unassign_license(license.id, user).data
    assert gone.id == assignment.id
    assert licd.validate(user).reason == "no_license"


def test_unassigning_by_query(licd):
    license = licd.license()
    assignment = licd.assign(license, "..")
    assert licd.licenses.unassign_license_by_query(license.id, "..").data.id == assignment.id


def test_floating_seats(licd):
    license = licd.license(max_seats=1, seat_idle_minutes=60)
    licd.assign(license, "nils")
    answer = licd.validate("nils")
    assert (answer.valid, answer.check_after_seconds) == (True, 1200)
    seen = licd.licenses.get_license(license.id).data
    assert (seen.terms.seat_idle_minutes, seen.terms.grace_days) == (60, None)
    asked = models.Release(user_id="nils", checked_at=answer.activation.last_checked_at)
    released = licd.validation.release(asked).data
    assert [seat.license_id for seat in released.released] == [license.id]
    licd.validate("nils")
    again = licd.licenses.release_seat(license.id, models.ReleaseSeat(user_id="nils")).data
    assert [seat.license_id for seat in again.released] == [license.id]
    freed = licd.events.list_events(type="seat.freed", order="newest").data[0]
    assert freed.data.reason == "released"
    licd.validate("nils")
    asked = models.TransferLicense(from_user_id="nils", to_user_id="olga")
    handed = licd.licenses.transfer_license(license.id, asked).data
    assert (handed.external_id, handed.activation.license_id) == ("olga", license.id)


def test_license_keys(licd):
    license = licd.license(max_seats=2)
    new = models.CreateLicenseKey(max_uses=1)
    created = licd.license_keys.create_license_key(license.id, new).data
    assert isinstance(created, models.CreatedLicenseKey)
    assert (created.license_id, created.max_uses, created.uses) == (license.id, 1, 0)
    claim = models.Claim(user_id="mary", key=created.key.lower())
    answer = licd.validation.claim(claim).data
    assert isinstance(answer, models.Validation)
    assert (answer.valid, answer.license.id) == (True, license.id)
    failure, _ = refused(
        exceptions.ConflictException,
        licd.validation.claim,
        models.Claim(user_id="ruth", key=created.key),
    )
    assert failure.code == "license_key_used_up"
    [listed] = licd.license_keys.list_license_keys(license.id).data
    assert (listed.id, listed.uses) == (created.id, 1)
    found = licd.license_keys.search_license_keys(created.suffix).data
    assert created.id in [key.id for key in found]
    asked = models.FindLicenseKey(key=created.key)
    assert licd.license_keys.find_license_key(asked).data == listed
    assert licd.licenses.list_assignments(license.id, key=created.id).data[0].external_id == "mary"
    reissued = licd.license_keys.reissue_license_key(created.id).data
    assert isinstance(reissued, models.CreatedLicenseKey) and reissued.key != created.key
    revoked = licd.license_keys.revoke_license_key(created.id).data
    assert isinstance(revoked.revoked_at, datetime)


def test_signing_keys(licd):
    made = licd.signing_keys.create_signing_keys().data
    assert [key.state for key in licd.signing_keys.list_signing_keys().data] == ["active", "standby"]
    rotate = models.RotateSigningKeys(standby=made.standby.id)
    rotated = licd.signing_keys.rotate_signing_keys(rotate).data
    assert rotated.active.jwk.kid == made.standby.jwk.kid
    assert licd.signing_keys.delete_signing_key(made.active.id).data.state == "retired"


def test_leases(licd):
    license = licd.license(max_lease_seconds=600)
    licd.assign(license, "vera")
    asked = models.RequestLease(user_id="vera", product_id=license.product_id, device="desk")
    answer = licd.validation.issue_lease(asked).data
    assert (answer.valid, answer.lease_reason) == (True, None)
    assert (answer.lease.expires_at - answer.lease.issued_at).total_seconds() == 600
    [running] = licd.validation.list_leases(license_id=license.id).data
    assert (running.external_id, running.device) == ("vera", "desk")
    failure, _ = refused(
        exceptions.ConflictException, licd.licenses.unassign_license, license.id, "vera"
    )
    assert failure.code == "lease_running"
    gone = licd.licenses.unassign_license(license.id, "vera", leases="drop").data
    assert gone.license_id == license.id
    refusal = licd.validation.issue_lease(asked).data
    assert (refusal.valid, refusal.reason, refusal.lease) == (False, "no_license", None)


def test_webhooks(licd):
    # No receiver listens there.
    new = models.CreateWebhook(url="http://127.0.0.1:9/", types=["product.*"])
    created = licd.webhooks.create_webhook(new).data
    assert isinstance(created, models.CreatedWebhook) and created.secret.startswith("whsec_")
    id = created.id
    assert id in [webhook.id for webhook in licd.webhooks.list_webhooks().data]
    sent = licd.webhooks.test_webhook(id).data
    assert (sent.delivered, sent.error, sent.status) == (False, "connect", None)
    licd.product()
    event = licd.events.list_events(type="product.created", order="newest").data[0]
    resent = licd.webhooks.resend_event(id, models.ResendEvent(event=event.id)).data
    assert (resent.delivered, resent.event) == (False, event.id)
    update = models.UpdateWebhook(enabled=False, description="Shop")
    updated = licd.webhooks.update_webhook(id, update).data
    assert (updated.state, updated.disabled_reason) == ("disabled", "by_hand")
    replay = models.ReplayWebhook(after=event.sequence - 1)
    assert licd.webhooks.replay_webhook(id, replay).data.sequence == event.sequence - 1
    assert licd.webhooks.retry_webhook(id).data.subjects == 0
    rolled = licd.webhooks.roll_webhook(id, models.RollKey(overlap_seconds=60)).data
    assert rolled.secret != created.secret and isinstance(rolled.old_secret_until, datetime)
    assert licd.webhooks.get_webhook(id).data.description == "Shop"
    failures = licd.webhooks.list_webhook_failures(id).data
    assert all(isinstance(failure, models.WebhookFailure) for failure in failures)
    assert licd.webhooks.delete_webhook(id).data.id == id


@pytest.fixture
def receiver():
    """A receiver of webhooks, with the headers and bodies that it got."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            server.received.append((dict(self.headers), body))
            self.send_response(204)
            self.end_headers()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.received = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()


def test_signatures_of_webhooks(licd, receiver):
    """The library of Standard Webhooks takes each secret that still signs, and no changed byte."""
    # Of these types nothing happens here: each roll of the secret is an event too, and would arrive.
    url = f"http://127.0.0.1:{receiver.server_port}/"
    created = licd.webhooks.create_webhook(
        models.CreateWebhook(url=url, types=["product.*"])
    ).data
    rolls = [licd.webhooks.roll_webhook(created.id, models.RollKey()).data for _ in range(3)]
    assert licd.webhooks.test_webhook(created.id).data.delivered
    [(headers, body)] = receiver.received
    for secret in [created.secret, *(roll.secret for roll in rolls)]:
        assert Webhook(secret).verify(body, headers)["type"] == "webhook.test"
        with pytest.raises(WebhookVerificationError):
            Webhook(secret).verify(body.replace(b"test", b"tset"), headers)
    with pytest.raises(WebhookVerificationError):
        Webhook("whsec_" + "A" * 32).verify(body, headers)
    licd.webhooks.delete_webhook(created.id)


def test_keys(licd):
    current = licd.keys.get_current_key().data
    assert isinstance(current, models.CurrentKey)
    assert (current.role, current.mode) == (models.Role.ADMIN, models.Mode.LIVE)
    assert (current.expires_at, current.tenant.name) == (None, "default")
    end = datetime.now(timezone.utc).replace(microsecond=0) + timedelta(days=1)
    new = models.CreateKey(name="CI", role=models.Role.READ, mode=models.Mode.TEST, expires_at=end)
    created = licd.keys.create_key(new).data
    assert isinstance(created, models.CreatedKey)
    assert created.key.startswith("sk_test_") and created.key.startswith(created.prefix)
    assert (created.expires_at, created.last_used_at) == (end, None)
    reader = Client(os.environ["LICD_URL"], created.key)
    refused(
        exceptions.ForbiddenException,
        reader.products.create_product,
        models.CreateProduct(name="x"),
    )
    assert created.id in [key.id for key in licd.keys.list_keys().data]
    rolled = licd.keys.roll_key(created.id, models.RollKey(overlap_seconds=3600)).data
    assert isinstance(rolled, models.CreatedKey) and rolled.key != created.key
    assert (rolled.name, rolled.role, rolled.expires_at) == ("CI", models.Role.READ, end)
    old = reader.keys.get_current_key().data
    assert old.expires_at == rolled.created_at + timedelta(hours=1)
    revoked = licd.keys.revoke_key(created.id).data
    assert isinstance(revoked, models.Key) and isinstance(revoked.revoked_at, datetime)
    failure, _ = refused(exceptions.UnauthorizedException, reader.keys.get_current_key)
    assert failure.code == "unauthorized"


def test_events(licd):
    license = licd.license(max_seats=3)
    licd.licenses.set_license_status(license.id, models.SetStatus(status=models.Status.REVOKED))
    events = licd.events.list_events(subject=license.id)
    assert isinstance(events, models.EventList)
    created, changed = events.data
    assert (created.type, created.data.previous) == ("license.created", None)
    assert created.data.object["maxSeats"] == 3
    assert (changed.type, changed.data.previous["status"]) == ("license.status_changed", "active")
    assert (changed.actor.type, changed.subject.type) == ("key", "license")
    assert (changed.related.license_id, changed.related.user_id) == (license.id, None)
    assert changed.sequence > created.sequence
    later = licd.events.list_events(after=created.sequence, limit=1)
    assert [event.id for event in later.data] == [changed.id]


def test_refusals_and_statistics(licd):
    licd.validate("mallory")
    refusals = find(lambda: licd.refusals.list_refusals(user_id="mallory").data)
    assert [type(refusal) for refusal in refusals] == [models.UserRefusal]
    assert (refusals[0].reason, refusals[0].count, refusals[0].license_id) == (
        "no_license",
        1,
        None,
    )
    hour, last = refusals[0].hour, refusals[0].last_at
    statistics = licd.statistics.get_statistics(var_from=hour, to=last).data
    assert isinstance(statistics, models.Statistics)
    [hour] = statistics.hours
    assert hour.hour == refusals[0].hour and hour.total >= hour.no_license >= 1
    assert len(licd.statistics.get_statistics().data.hours) == 24
    assert isinstance(licd.statistics.get_plan_statistics(trial=False).data.plans, list)
    months = licd.statistics.get_month_statistics(var_from="2026-01").data.months
    assert all(isinstance(month, models.MonthNumbers) for month in months)


def test_errors(licd):
    unknown = "prd_01h455vb4pex5vsknk084sn02q"
    failure, _ = refused(exceptions.NotFoundException, licd.products.get_product, unknown)
    assert (failure.code, failure.var_field, failure.retry_after) == ("not_found", None, None)
    plan = models.CreatePlan(product_id=unknown, name="Team")
    failure, raised = refused(exceptions.BadRequestException, licd.plans.create_plan, plan)
    assert (failure.code, failure.var_field) == ("invalid_request", "productId")
    stranger = Client(os.environ["LICD_URL"], None)
    _, raised = refused(exceptions.UnauthorizedException, stranger.keys.get_current_key)
    assert raised.headers["WWW-Authenticate"].startswith("Bearer")


def test_a_rate_that_is_used_up():
    # By default the client waits as long as `Retry-After` says, and asks again.
    url, key = os.environ["LIMITED_LICD_URL"], os.environ["LIMITED_LICD_KEY"]
    limited = Client(url, key, retries=False)
    first = limited.keys.get_current_key_with_http_info()
    assert (first.headers["ratelimit-limit"], first.headers["ratelimit-remaining"]) == ("1", "0")
    failure, raised = refused(exceptions.ApiException, limited.keys.get_current_key)
    assert (raised.status, failure.code) == (429, "rate_limited")
    assert 1 <= failure.retry_after <= 60
    assert raised.headers["Retry-After"] == str(failure.retry_after)
    assert raised.headers["RateLimit-Remaining"] == "0"


def test_a_request_that_is_sent_again(licd):
    once = str(uuid.uuid4())
    request = models.CreateProduct(name="Once")
    first = licd.products.create_product_with_http_info(request, idempotency_key=once)
    again = licd.products.create_product_with_http_info(request, idempotency_key=once)
    assert first.data == again.data and again.status_code == 201
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    failure, _ = refused(
        exceptions.UnprocessableEntityException,
        licd.products.create_product,
        models.CreateProduct(name="Other"),
        idempotency_key=once,
    )
    assert failure.code == "idempotency_key_reused"


def test_a_record_that_has_changed_since(licd):
    seen = licd.products.create_product_with_http_info(models.CreateProduct(name="Studio"))
    change, tag = models.UpdateProduct(name="Atelier"), seen.headers["etag"]
    licd.products.update_product(seen.data.data.id, change, if_match=tag)
    failure, _ = refused(
        exceptions.ConflictException,
        licd.products.update_product,
        seen.data.data.id,
        change,
        if_match=tag,
    )
    assert failure.code == "changed"


def test_what_later_versions_may_add_is_read():
    reason = models.Validation.from_dict({"valid": False, "reason": "moon_phase", "more": 1})
    assert reason.reason == "moon_phase"
    failure = {"success": False, "error": "New", "code": "new", "requestId": "r", "more": 1}
    assert models.Failure.from_dict(failure).code == "new"


def test_no_operation_is_missed():
    paths = json.loads(DOCUMENT.read_text())["paths"]
    ids = {operation["operationId"] for path in paths.values() for operation in path.values()}
    assert called == {re.sub(r"(?=[A-Z])", "_", id).lower() for id in ids}
