"""Calls a licd with the client that openapi-python-client makes, as package `licd_httpx`. `run` sets
LICD_URL and LICD_KEY."""

import os
import uuid

from licd_httpx import AuthenticatedClient, models
from licd_httpx.api.licenses import assign_license, create_license, get_license, update_license
from licd_httpx.api.plans import create_plan
from licd_httpx.api.products import create_product
from licd_httpx.api.users import list_users
from licd_httpx.api.validation import validate

licd = AuthenticatedClient(os.environ["LICD_URL"], os.environ["LICD_KEY"])


def ask(user):
    return validate.sync(client=licd, body=models.Validate(user_id=user)).data


def test_a_license_from_its_product_to_its_validation():
    product = create_product.sync(client=licd, body=models.CreateProduct(name="Studio")).data
    terms = models.CreatePlan(product_id=product.id, name="Team", max_seats=1, features=["sso"])
    plan = create_plan.sync(client=licd, body=terms).data
    assert (plan.max_seats, plan.expires_in_days, plan.features) == (1, None, ["sso"])

    new, once = models.CreateLicense(plan_id=plan.id, expires_in_days=30), str(uuid.uuid4())
    first = create_license.sync(client=licd, body=new, idempotency_key=once).data
    assert create_license.sync(client=licd, body=new, idempotency_key=once).data == first
    change = models.UpdateLicense(
        name="Acme", clear=[models.UpdateLicenseClearItem.EXPIRESAT]
    )
    assert update_license.sync(first.id, client=licd, body=change).data.expires_at is None
    assert get_license.sync(first.id, client=licd).data.name == "Acme"

    for user in ["ada", "grace"]:
        assign = models.AssignLicense(user_id=user)
        assert assign_license.sync_detailed(first.id, client=licd, body=assign).status_code == 201
    valid, refusal = ask("ada"), ask("grace")
    assert (valid.valid, valid.features, valid.license_.id) == (True, ["sso"], first.id)
    assert (refusal.valid, refusal.reason) == (False, "exceeded_seats")

    page = list_users.sync(client=licd, limit=1)
    assert [user.external_id for user in page.data] == ["ada"]
    rest = list_users.sync(client=licd, limit=1, after=page.next_cursor)
    assert ([user.external_id for user in rest.data], rest.next_cursor) == (["grace"], None)


def test_a_failure_is_typed():
    unknown = models.CreateLicense(plan_id="pln_01h455vb4pex5vsknk084sn02q")
    failure = create_license.sync(client=licd, body=unknown)
    assert isinstance(failure, models.Failure)
    assert (failure.code, failure.field) == ("invalid_request", "planId")


def test_what_later_versions_may_add_is_read():
    later = models.Validation.from_dict({"valid": False, "reason": "moon_phase", "more": 1})
    assert (later.valid, later.reason, later["more"]) == (False, "moon_phase", 1)
