"""Sends licd what the document allows and what it forbids, and checks what comes back. `run` starts
licd and sets LICD_URL and LICD_KEY; `schemathesis.toml` has the bounds, which leave nothing to chance.
Every operation must succeed at times."""

import json
import os
import re
import sys
import urllib.request
from pathlib import Path

import schemathesis
from schemathesis.cli import schemathesis as command
from schemathesis.specs.openapi.checks import AcceptedNegativeData, RejectedPositiveData

HERE = Path(__file__).parent
DOCUMENT = HERE.parents[1] / "docs" / "openapi.json"

# What no schema can say: the refusals of requests that are valid by the document. Each has the code,
# the field and the sentence of its failure.
REFUSALS = {
    "an id in a body or query exists": (
        "invalid_request",
        "planId|productId|event",
        "must be the id of an existing",
    ),
    "an Idempotency-Key was not used before": ("idempotency_key_reused", "", ""),
    "a new key expires in the future": ("invalid_request", "expiresAt", "must be in the future"),
    "a time is a date of the calendar from 1970 on": (
        "invalid_request",
        "expiresAt|endsBefore|endsFrom|from|to|checkedAt|since",
        "must be a time",
    ),
    "a period has begun, does not end before, and is not too long": (
        "invalid_request",
        "from|to",
        "must not be in the future|must not be after|must be before|at most",
    ),
    "a member is not set and cleared in one request": (
        "invalid_request",
        ".*",
        "cannot be both set and cleared",
    ),
    # As `uniqueItems`, of which clients would make sets that have no order.
    "features are no two alike": ("invalid_request", "features", "different strings"),
    # Blanks and dashes do not count.
    "a license key is long enough": (
        "invalid_request",
        "key",
        "8 to 4096 letters|at least 12 letters",
    ),
    # Emoji, arrows and combining marks.
    "a license key has no character that none contains": (
        "invalid_request",
        "key",
        "which no license key contains",
    ),
    "a search for license keys has four characters": (
        "invalid_request",
        "search",
        "at least 4 letters",
    ),
    "a license has one end": ("invalid_request", "expiresAt", "not both"),
    "a renewal has a term of the calendar": (
        "invalid_request",
        "for",
        "have no term|a term up to|after the year",
    ),
    "a license waits or has an end": ("invalid_request", "startsWithDays", "or has an end"),
    "few seats are floating": ("invalid_request", "seatIdleMinutes", "10,000 seats"),
    "a webhook has an address that may be reached": ("invalid_request", "url", "http"),
    "a type of events exists": ("invalid_request", "types?.*", "the type of an event"),
    "a replay begins with an event that there is": (
        "invalid_request",
        "after",
        "sequence of the last event|either after or since",
    ),
    "a rotation names a key or gives both up": (
        "invalid_request",
        "standby",
        "either standby or abandon",
    ),
    "a sequence is that of an event": ("sequence_ahead", "", ""),
    # The fuzzer also sends values that its pattern excludes.
    "If-Match has tags in quotes": ("invalid_request", "If-Match", "tags in quotes"),
    "metadata is small and flat, without NUL": (
        "invalid_request",
        "metadata.*|mergeMetadata",
        "16 KiB",
    ),
    "whole numbers of metadata have 64 bits": ("invalid_request", "metadata", "64 bits"),
    "metadata is replaced, merged or cleared": (
        "invalid_request",
        "mergeMetadata",
        "replaced, merged or cleared",
    ),
    # Generated PHP clients would refuse other letters too.
    "a text has no control characters from U+0080 on": (
        "invalid_request",
        ".*",
        "without control characters",
    ),
}

overlooked = set()
succeeded = set()


@schemathesis.hook
def filter_failure(context, failure, case, response):
    # A member that is null is as one that is absent, though the document does not offer it.
    if isinstance(failure, AcceptedNegativeData):
        return not isinstance(case.body, dict) or None not in case.body.values()
    if not isinstance(failure, RejectedPositiveData):
        return True
    answer = response.json()
    for name, (code, field, sentence) in REFUSALS.items():
        if (
            answer["code"] == code
            and re.fullmatch(field, answer.get("field", ""))
            and re.search(sentence, answer["error"])
        ):
            overlooked.add(name)
            return False
    return True


def send(method, path, body):
    """Sends a request in addition to those of the fuzzer."""
    headers = {
        "Authorization": f"Bearer {os.environ['LICD_KEY']}",
        "Content-Type": "application/json",
    }
    request = urllib.request.Request(
        f"{os.environ['LICD_URL']}/api/v1/{path}", json.dumps(body).encode(), headers, method=method
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)["data"]


def create(path, **body):
    return send("POST", f"admin/{path}", body)["id"]


def listed(path, folder="admin/"):
    url = f"{os.environ['LICD_URL']}/api/v1/{folder}{path}"
    headers = {"Authorization": f"Bearer {os.environ['LICD_KEY']}"}
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as response:
        return json.load(response)["data"]


def user():
    return create("users", externalId="ada")


def key():
    return create("keys", name="fuzzed", role="read")


def webhook():
    # There may be as many as there can be.
    known = listed("webhooks")
    return create("webhooks", url=NOBODY) if len(known) < 20 else known[0]["id"]


def license_key():
    return create(f"licenses/{existing['lic']}/keys")


def signing_key(state):
    """Returns a record in this state, after the first ones were created."""
    return next((it["id"] for it in listed("signing-keys", "") if it["state"] == state), None)


def rotate():
    """A key that has retired."""
    if standby := signing_key("standby"):
        send("POST", "admin/signing-keys/rotate", {"standby": standby})
    return signing_key("retired")


# An address without a listener.
NOBODY = "http://127.0.0.1:9/"
product = create("products", name="Studio")
plan = create("plans", productId=product, name="Team")
existing = {
    "prd": product,
    "pln": plan,
    "lic": create("licenses", planId=plan),
    "usr": user(),
    "key": key(),
    "whk": webhook(),
}
existing["lky"] = license_key()
event = listed("events?order=newest&limit=1")[0]["id"]
# What a user would type.
typed = send("POST", f"admin/licenses/{existing['lic']}/keys", {})["key"]


def existing_instead_of(text, operation):
    """For every other id the id of a record, so that more is seen than 404."""
    kind = text[:3]
    if not re.fullmatch(r"(prd|pln|lic|lky|usr|key|whk|sig)_[0-9a-z]{26}", text) or ord(text[-1]) % 2:
        return text
    spent = {
        "deleteProduct": lambda: create("products", name="Studio"),
        "deletePlan": lambda: create("plans", productId=product, name="Team"),
        "deleteLicense": lambda: create("licenses", planId=plan),
        "deleteUser": user,
        "renewLicense": lambda: create("licenses", planId=plan, expiresInDays=30),
        "rollKey": key,
        "revokeKey": key,
        "reissueLicenseKey": license_key,
        "revokeLicenseKey": license_key,
        "deleteWebhook": webhook,
        "deleteSigningKey": lambda: rotate() or text,
    }
    return spent.get(operation, lambda: existing[kind])()


@schemathesis.hook
def before_call(context, case, kwargs):
    operation = case.operation.definition.raw["operationId"]
    for part in (case.path_parameters, case.body):
        if isinstance(part, dict):
            for name in ("id", "productId", "planId"):
                if isinstance(part.get(name), str):
                    part[name] = existing_instead_of(part[name], operation)
    if operation in ("claim", "findLicenseKey") and isinstance(case.body, dict):
        if isinstance(case.body.get("key"), str) and len(case.body["key"]) % 2:
            case.body["key"] = typed
    if isinstance(case.body, dict) and str(case.body.get("url")).startswith("http"):
        case.body["url"] = NOBODY
    if operation == "resendEvent" and isinstance(case.body, dict):
        case.body["event"] = event
    if operation == "replayWebhook" and isinstance(case.body, dict) and "since" not in case.body:
        case.body["after"] = 1
    if operation == "rotateSigningKeys" and isinstance(case.body, dict):
        named = str(case.body.get("standby"))
        if re.fullmatch("sig_[0-9a-z]{26}", named) and ord(named[-1]) % 2 == 0:
            case.body["standby"] = signing_key("standby") or named
    holder = {"releaseSeat": "userId", "transferLicense": "fromUserId"}.get(operation)
    if holder and isinstance(case.body, dict):
        send("POST", f"admin/licenses/{existing['lic']}/assign", {"userId": "ada"})
        if len(str(case.body.get(holder))) % 2:
            case.body[holder] = "ada"
    if operation.startswith("unassign"):
        send("POST", f"admin/licenses/{existing['lic']}/assign", {"userId": "ada"})
        named = case.path_parameters if operation == "unassignLicense" else case.query
        if isinstance(named, dict) and len(str(named.get("userId"))) % 2:
            named["userId"] = "ada"


@schemathesis.hook
def after_call(context, case, response):
    if response.status_code < 300:
        succeeded.add(case.operation.definition.raw["operationId"])


def main():
    try:
        command(["--config-file", f"{HERE}/schemathesis.toml", "run", str(DOCUMENT)])
    except SystemExit as end:
        if end.code:
            sys.exit(end.code)
    print("Overlooked, as no schema can say that…", *sorted(overlooked), sep="\n  ")
    paths = json.loads(DOCUMENT.read_text())["paths"]
    operations = {
        operation["operationId"] for path in paths.values() for operation in path.values()
    }
    if operations - succeeded:
        sys.exit(f"These operations never succeeded: {sorted(operations - succeeded)}")


main()
