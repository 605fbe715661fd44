"""What goes wrong around a program that guards a feature, and what it then does for its user."""

import json
import re
import time

DAY = 24 * 3600
GRACE = 3 * DAY
ALLOWED = {"valid": True, "license": {"expiresAt": None}, "features": ["render"]}
REFUSED = {"valid": False, "reason": "expired"}
LIMITED = '{"success": false, "code": "rate_limited", "requestId": "r-1", "retryAfter": 60}'
UNAVAILABLE = '{"success": false, "code": "unavailable", "requestId": "r-2", "retryAfter": 1}'


def kept(answer, seen_seconds_ago=60, left=GRACE, fresh=0):
    seen = time.time() - seen_seconds_ago
    entry = {"answer": answer, "seen": seen, "left": left, "fresh": fresh}
    return json.dumps({"ada": entry})


def answer(expires_in, check_after=None):
    """Returns licd's response for a license that ends after a number of seconds, perhaps a floating one."""
    end = time.strftime("%Y-%m-%dT%H:%M:%S.123Z", time.gmtime(time.time() + expires_in))
    data = ALLOWED | {"license": {"expiresAt": end}, "checkAfterSeconds": check_after}
    return json.dumps({"success": True, "data": data})


class Gate:
    """A command of a page that says whether ada may use the feature."""

    def __init__(self, session, stand_in, place, command, printed):
        self.session = session
        self.stand_in = stand_in
        self.place = place
        self.command = command.replace(" ada linus grace", " ada")
        self.on = printed.splitlines(keepends=True)[0]
        self.attempts = 1 if "has_feature" in command else 3

    def off(self, why):
        return self.on.replace("on", "off" if "has_feature" in self.command else f"off, {why}", 1)

    def run(self, case, before, environment, expected, reported=""):
        """Run it where this was kept before, and compare what it prints, for the user and for you."""
        self.session.forget(before)
        sets = " ".join(f"{name}={value}" for name, value in environment.items())
        command = f"(export {sets}; {self.command})"
        errors = self.session.check(f"{self.place}, {case}", command, expected)
        if not re.search(reported, errors) or "Traceback" in errors or "panicked" in errors:
            raise SystemExit(f"{self.place}, {case}: standard error lacks {reported!r}:\n{errors}")

    def expect_requests(self, case, count):
        if self.stand_in.requests != count:
            raise SystemExit(f"{self.place}, {case}: {self.stand_in.requests} requests, not {count}")

    def kept(self):
        return (self.session.folder() / "answers.json").read_text()

    def left(self, case, low, high, member="left"):
        left = json.loads(self.kept())["ada"][member]
        if not low < left <= high:
            raise SystemExit(f"{self.place}, {case}: {member} is {left} seconds")


def try_all(gate, read_key):
    """The gate is on as long as an answer counts, and what went wrong is reported, not thrown."""
    stand_in, there = gate.stand_in, {"APP_LICENSE_SERVER": gate.stand_in.address}
    nothing = gate.off("there is no answer")

    for case, environment, code in [
        ("with a wrong key", {"APP_LICENSE_KEY": "sk_live_wrong"}, r"401[\s\S]*unauthorized"),
        ("with a key of another role", {"APP_LICENSE_KEY": read_key}, r"403[\s\S]*forbidden"),
    ]:
        gate.run(case, kept(ALLOWED), environment, gate.on, rf'{code}[\s\S]*"requestId"')
        gate.run(f"{case} and nothing kept", None, environment, nothing, code)

    stand_in.always(503, 1, UNAVAILABLE)
    gate.run("with licd unavailable", kept(ALLOWED), there, gate.on, "unavailable")
    gate.expect_requests("with licd unavailable", 3)
    stand_in.always(200, None, "<html>Welcome to our hotel</html>")
    gate.run("in a hotel", kept(ALLOWED), there, gate.on, ".")
    gate.expect_requests("in a hotel", gate.attempts)
    for status in (302, 307):
        stand_in.always(status, None, "")
        gate.run(f"sent elsewhere with {status}", kept(ALLOWED), there, gate.on)
        if stand_in.leaked:
            raise SystemExit(f"{gate.place}: the key was sent to another host")
    stand_in.always(429, 60, LIMITED)
    gate.run("asked to wait for long", kept(ALLOWED), there, gate.on, r"rate_limited[\s\S]*r-1")
    gate.expect_requests("asked to wait for long", 1)

    gate.run("again within a minute", gate.kept(), there, gate.on, "^$")
    gate.expect_requests("again within a minute", 1)
    for case, before, expected, requests in [
        ("with a fresh answer", kept(ALLOWED, 60, GRACE, 3600), gate.on, 0),
        ("with an answer an hour old", kept(ALLOWED, 3660, GRACE, 3600), gate.on, 1),
        ("with an hour on the clock set back", kept(ALLOWED, -3660, GRACE, 3600), gate.on, 1),
        ("with a fresh answer past its end", kept(ALLOWED, 60, 30, 3600), nothing, 1),
        ("with a fresh refusal", kept(REFUSED, 60, GRACE, 3600), gate.off("the license has expired"), 1),
    ]:
        stand_in.always(429, 60, LIMITED)
        gate.run(case, before, there, expected)
        gate.expect_requests(case, requests)

    # From here on, each first attempt is the last, so that no call waits.
    expired = gate.off("the license has expired")
    for case, before, expected in [
        ("with nothing kept", None, nothing),
        ("with a broken file", '{"ada": {"ans', nothing),
        ("with an empty file", "", nothing),
        ("after the grace period", kept(ALLOWED, 3 * DAY + 60), nothing),
        ("with the clock set back for long", kept(ALLOWED, -3 * DAY - 60), nothing),
        ("refused long ago", kept(REFUSED, 300 * DAY), expired),
    ]:
        gate.run(case, before, there, expected, "rate_limited")
    gate.run("with the clock set back", kept(ALLOWED, -DAY), there, gate.on, "rate_limited")
    gate.left("with the clock set back", 2 * DAY - 300, 2 * DAY + 300)

    stand_in.always(200, None, answer(3600))
    gate.run("with an end near", None, there, gate.on)
    gate.left("with an end near", 3000, 3601)
    stand_in.always(200, None, answer(300 * DAY))
    gate.run("with an end far away", None, there, gate.on)
    gate.left("with an end far away", GRACE - 1, GRACE)
    gate.left("with a seat of its own", 3599, 3600, "fresh")
    # Another user may take a floating seat over that is not asked for in time.
    stand_in.always(200, None, answer(300 * DAY, 600))
    gate.run("with a floating seat", None, there, gate.on)
    gate.left("with a floating seat", 599, 600, "fresh")
