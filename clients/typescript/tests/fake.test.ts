/** What counts when: with a licd in memory and a clock that the tests move. */

import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ConfigurationError, Licd, LicdError, type LicdOptions, verifyWebhook } from "../dist/index.js";
import { FileStore } from "../dist/node.js";
import { FakeLicd } from "../dist/testing.js";

const DENY = { whenUnknown: "deny" } as const;
const ALLOW = { whenUnknown: "allow" } as const;
const FRESH = { whenUnknown: "deny", fresh: true } as const;
const HOUR = 3600;
const DAY = 24 * HOUR;

async function folder(): Promise<string> {
  return mkdtemp(join(tmpdir(), "licd-client-"));
}

/** All that a store has written. */
async function texts(path: string): Promise<string[]> {
  return Promise.all((await readdir(path)).map((name) => readFile(join(path, name), "utf8")));
}

/** A licd that has licensed ada, and a client of it. */
async function start(options: Partial<LicdOptions> = {}) {
  const fake = await FakeLicd.create();
  fake.grant("ada", { features: ["export"], leaseSeconds: DAY });
  return { fake, licd: await Licd.open({ ...fake.options, ...options }) };
}

/** What a check says, in a word or two. */
async function say(licd: Licd, options: Parameters<Licd["check"]>[1] = DENY): Promise<string> {
  const result = await licd.check("ada", options);
  if (result.kind === "licensed") return `licensed, ${result.source}`;
  return result.kind === "refused" ? result.reason : `unknown, ${result.allowed}`;
}

/** Lets what goes on behind a check come to its end. */
async function settle(licd: Licd): Promise<void> {
  await licd.check("ada", FRESH);
}

test("an answer is one of three kinds", async () => {
  const { fake, licd } = await start();
  const licensed = await licd.check("ada", DENY);
  assert.ok(licensed.kind === "licensed" && licensed.allowed);
  assert.deepEqual([licensed.has("export"), licensed.has("sso")], [true, false]);
  assert.equal(await say(licd, { ...DENY, feature: "sso" }), "missing_feature");
  fake.refuse("ada", "a_new_reason");
  assert.equal(await say(licd, FRESH), "a_new_reason");
  fake.fail("unreachable");
  const unknown = await licd.check("grace", DENY);
  assert.ok(unknown.kind === "unknown" && !unknown.allowed && unknown.until === null);
  assert.equal((await licd.check("ada", ALLOW)).kind, "refused", "a refusal is no outage");
});

test("a program that forgets what to do without an answer fails at its first call", async () => {
  const { licd } = await start();
  await assert.rejects(licd.check("ada", {} as typeof DENY), TypeError);
  await assert.rejects(licd.check("", DENY), TypeError);
});

test("the last answer is returned immediately, and refreshed behind it", async () => {
  const { fake, licd } = await start();
  assert.equal(await say(licd), "licensed, fresh");
  const asked = fake.requests.length;
  assert.equal(await say(licd), "licensed, remembered");
  assert.equal(fake.requests.length, asked, "a fresh answer costs no request");
  fake.clock.advance(HOUR);
  fake.refuse("ada", "revoked");
  let behind: Promise<unknown> | undefined;
  const waitUntil = (work: Promise<unknown>) => (behind = work);
  assert.equal(await say(licd, { ...DENY, waitUntil }), "licensed, remembered");
  await behind;
  assert.equal(await say(licd), "revoked");
  fake.grant("ada");
  assert.equal(await say(licd), "licensed, fresh", "a refusal is always asked about again");
});

test("a fresh answer counts, however short it is remembered", async () => {
  const { fake, licd } = await start({ rememberSeconds: 0, freshSeconds: 60 });
  await say(licd);
  fake.fail("unreachable");
  fake.clock.advance(59);
  assert.equal(await say(licd), "licensed, remembered");
  fake.clock.advance(1);
  assert.equal(await say(licd), "unknown, false");
});

test("a floating seat is asked for as often as licd wants", async () => {
  const { fake, licd } = await start();
  fake.grant("ada", { checkAfterSeconds: 60 });
  await say(licd);
  fake.clock.advance(61);
  const asked = fake.requests.length;
  await say(licd);
  await settle(licd);
  assert.ok(fake.requests.length > asked);
  assert.equal(await licd.release("ada"), 1);
  fake.fail("unreachable");
  assert.equal(await say(licd), "unknown, false", "a seat that was given back does not count");
});

test("the last answer counts for its time, whichever way the clock is set", async () => {
  const { fake, licd } = await start({ rememberSeconds: 2 * HOUR });
  await say(licd);
  fake.fail("unreachable");
  fake.clock.set(fake.clock.now() - HOUR * 1000);
  assert.equal(await say(licd), "licensed, remembered");
  fake.clock.set(fake.clock.now() + (HOUR + 1) * 1000);
  assert.equal(await say(licd), "unknown, false");
});

test("an answer does not outlive its license, but for the days of grace", async () => {
  for (const [hours, expected] of [[1, "unknown, false"], [-1, "licensed, remembered"]] as const) {
    const { fake, licd } = await start();
    const expiresAt = new Date(fake.clock.now() + hours * HOUR * 1000).toISOString();
    fake.grant("ada", { expiresAt });
    await say(licd);
    fake.fail("unreachable");
    fake.clock.advance(2 * HOUR);
    assert.equal(await say(licd), expected);
  }
});

test("allow ends, also for a program that is started again", async () => {
  const store = new FileStore(await folder());
  const { fake, licd } = await start({ allowSeconds: DAY, store });
  fake.fail(503);
  const first = await licd.check("ada", ALLOW);
  assert.ok(first.kind === "unknown" && first.allowed && first.until);
  assert.equal(first.until.getTime() - first.since.getTime(), DAY * 1000);
  fake.clock.advance(DAY / 2);
  const again = await Licd.open({ ...fake.options, allowSeconds: DAY, store });
  assert.equal(await say(again, ALLOW), "unknown, true");
  fake.clock.advance(DAY / 2);
  assert.equal(await say(again, ALLOW), "unknown, false");
});

test("licd is asked once for all checks that wait, and rarely in an outage", async () => {
  const { fake, licd } = await start();
  const asked = fake.requests.length;
  await Promise.all(Array.from({ length: 9 }, () => licd.check("ada", FRESH)));
  assert.equal(fake.requests.length, asked + 1);
  fake.fail("unreachable");
  await say(licd, FRESH);
  const failed = fake.requests.length;
  await say(licd, FRESH);
  assert.equal(fake.requests.length, failed);
  fake.recover();
  fake.clock.advance(11);
  assert.equal(await say(licd, FRESH), "licensed, fresh");
});

test("a key that was replaced is no refusal, and a mistake is an error", async () => {
  const { fake, licd } = await start();
  for (const status of [401, 403, 404]) {
    fake.fail(status);
    assert.equal(await say(licd, { whenUnknown: "allow" }), "unknown, true");
    fake.clock.advance(11);
  }
  fake.fail(400);
  await assert.rejects(licd.check("ada", DENY), { status: 400, code: "fake_400" });
});

test("what is wrong fails when the client is opened", async () => {
  const { options } = await FakeLicd.create();
  const wrong: Partial<LicdOptions>[] = [
    { url: "licd.test" }, { url: "https://licd.test/api/v1" }, { key: "secret" }, { mode: "live" },
    { product: "Studio" }, { freshSeconds: -1 }, { leases: { signingKeys: { keys: [] } } },
  ];
  for (const option of wrong) {
    const opened = Licd.open({ ...options, ...option });
    await assert.rejects(opened, ConfigurationError, JSON.stringify(option));
  }
});

test("a lease counts without the network until it ends", async () => {
  const fake = await FakeLicd.create();
  fake.grant("ada", { features: ["sso", "größe"], leaseSeconds: DAY });
  const store = new FileStore(await folder());
  const leases = { signingKeys: fake.signingKeys, device: "desk" };
  const open = (other = {}) => Licd.open({ ...fake.options, leases, store, ...other });
  assert.equal(await say(await open()), "licensed, fresh");
  fake.fail("unreachable");
  fake.clock.advance(DAY - HOUR);
  const licd = await open();
  assert.equal(await say(licd), "licensed, lease");
  assert.ok((await licd.check("ada", { ...DENY, feature: "größe" })).allowed);
  const elsewhere = { ...leases, device: "laptop" };
  assert.equal(await say(await open({ leases: elsewhere })), "unknown, false");
  const stranger = { ...leases, signingKeys: (await FakeLicd.create()).signingKeys };
  assert.equal(await say(await open({ leases: stranger })), "unknown, false");
  for (let hour = 0; hour < 2; hour++) fake.clock.set(fake.clock.now() - (HOUR / 2) * 1000), await say(licd);
  assert.equal(await say(licd), "unknown, false", "setting the clock back uses the lease up");
});

test("a refusal deletes the lease, and a missing response does not", async () => {
  const fake = await FakeLicd.create();
  fake.grant("ada", { leaseSeconds: DAY });
  const path = await folder();
  const leases = { signingKeys: fake.signingKeys };
  const licd = await Licd.open({ ...fake.options, leases, store: new FileStore(path) });
  const stored = async () => (await texts(path)).some((text) => text.includes('"lease":"ey'));
  await say(licd);
  fake.fail("unreachable");
  await say(licd, FRESH);
  assert.ok(await stored());
  fake.recover();
  fake.refuse("ada", "suspended");
  fake.clock.advance(11);
  assert.equal(await say(licd, FRESH), "suspended");
  assert.ok(!(await stored()));
});

test("a claim is safe to repeat and fetches a lease", async () => {
  const fake = await FakeLicd.create();
  fake.addLicenseKey("GOOD", { leaseSeconds: DAY });
  fake.addLicenseKey("USED", "license_key_used_up");
  const store = new FileStore(await folder());
  const leases = { signingKeys: fake.signingKeys };
  const licd = await Licd.open({ ...fake.options, leases, store });
  for (let start = 0; start < 2; start++) {
    assert.ok((await licd.claim("ada", "GOOD", DENY)).allowed);
  }
  const used = await licd.claim("ada", "USED", DENY);
  assert.ok(used.kind === "refused" && used.reason === "license_key_used_up");
  fake.fail("unreachable");
  assert.ok((await licd.claim("ada", "GOOD", DENY)).allowed, "the last answer counts");
  assert.equal(await say(await Licd.open({ ...fake.options, leases, store })), "licensed, lease");
});

test("a lease from a file is installed, and no other", async () => {
  const fake = await FakeLicd.create();
  fake.grant("ada", { leaseSeconds: DAY });
  const path = await folder();
  const leases = { signingKeys: fake.signingKeys };
  await say(await Licd.open({ ...fake.options, leases, store: new FileStore(path) }));
  const token = (await texts(path)).map((text) => /"lease":"(ey[^"]*)"/.exec(text)?.[1]).find(Boolean)!;
  fake.fail("unreachable");
  const licd = await Licd.open({ ...fake.options, leases });
  assert.equal((await licd.installLease("ada", `${token}\n`)).source, "lease");
  assert.equal(await say(licd), "licensed, lease");
  await assert.rejects(licd.installLease("grace", token), LicdError);
  await assert.rejects(licd.installLease("ada", token.replace(/.$/, "x").slice(0, -3)), LicdError);
  fake.clock.advance(DAY);
  await assert.rejects(licd.installLease("ada", token), LicdError);
});

test("a damaged or unwritable store fails no check", async () => {
  const path = await folder();
  const { fake, licd } = await start({ store: new FileStore(path) });
  await say(licd);
  for (const name of await readdir(path)) await writeFile(join(path, name), '{"answer":{"valid":7}');
  const again = await Licd.open({ ...fake.options, store: new FileStore(path) });
  assert.equal(await say(again), "licensed, fresh");
  const file = join(path, "file");
  await writeFile(file, "");
  const unwritable = await Licd.open({ ...fake.options, store: new FileStore(file) });
  assert.equal(await say(unwritable), "licensed, fresh");
});

test("two programs that share a folder share no answer", async () => {
  const store = new FileStore(await folder());
  const { fake, licd } = await start({ store });
  await say(licd);
  fake.fail("unreachable");
  const product = "prd_01h455vb4pex5vsknk084sn99x";
  const other = await Licd.open({ ...fake.options, store, product });
  assert.equal(await say(other), "unknown, false");
});

test("support gets a line without a secret", async () => {
  const { fake, licd } = await start();
  await say(licd);
  fake.fail("unreachable");
  await say(licd, FRESH);
  assert.ok(!(await licd.explainForSupport("a\nb")).includes("\n"));
  const line = await licd.explainForSupport("ada");
  assert.match(line, /user ada.*licensed by lic_.*last problem: fetch failed/);
  assert.ok(!line.includes("\n") && !line.includes(fake.options.key));
});

test("a webhook counts with its own signature, within five minutes", async () => {
  const secret = `whsec_${btoa("a secret of a webhook")}`;
  const body = '{"id":"evt_1","type":"license.created","subject":{"type":"license","id":"lic_1"}}';
  const at = 1_800_000_000;
  const sign = async (id: string) => {
    const bytes = Uint8Array.from(atob(secret.slice(6)), (c) => c.charCodeAt(0));
    const algorithm = { name: "HMAC", hash: "SHA-256" };
    const key = await crypto.subtle.importKey("raw", bytes, algorithm, false, ["sign"]);
    const text = new TextEncoder().encode(`${id}.${at}.${body}`);
    return btoa(String.fromCharCode(...new Uint8Array(await crypto.subtle.sign("HMAC", key, text))));
  };
  const headers = {
    "webhook-id": "evt_1",
    "webhook-timestamp": String(at),
    "webhook-signature": `v1,%%% v2,x v1,${await sign("evt_1")}`,
  };
  const now = () => at * 1000;
  assert.equal((await verifyWebhook(body, headers, secret, now)).type, "license.created");
  assert.equal((await verifyWebhook(body, new Headers(headers), secret, now)).id, "evt_1");
  const wrong: Parameters<typeof verifyWebhook>[] = [
    [`${body} `, headers, secret, now],
    [body, { ...headers, "webhook-id": "evt_2" }, secret, now],
    [body, {}, secret, now],
    [body, headers, secret, () => now() + 301_000],
  ];
  for (const call of wrong) await assert.rejects(verifyWebhook(...call), LicdError);
});
