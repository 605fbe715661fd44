/** The client with a server that misbehaves, and with a running licd. */

import assert from "node:assert/strict";
import { createServer, type Server, type Socket } from "node:net";
import { after, before, test } from "node:test";
import { ConfigurationError, Licd } from "../dist/index.js";
import { FakeLicd } from "../dist/testing.js";
import { admin, sell, URL } from "./vendor.ts";

const DENY = { whenUnknown: "deny" } as const;
const FRESH = { whenUnknown: "deny", fresh: true } as const;
const LATE = { timeout: 30_000 };

const VALID = { success: true, data: { valid: true, license: { id: "lic_1", expiresAt: null }, features: [] } };

function http(status: number, body: unknown, ...headers: string[]): string {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const head = [`HTTP/1.1 ${status} X`, `Content-Length: ${Buffer.byteLength(text)}`, "Connection: close"];
  return [...head, ...headers, "", text].join("\r\n");
}

/** Sends a response a byte at a time, and never all of it. */
function drip(socket: Socket): void {
  socket.write("HTTP/1.1 200 X\r\nContent-Length: 9999\r\n\r\n{");
  const timer = setInterval(() => socket.write(" "), 20);
  socket.on("close", () => clearInterval(timer));
}

const OUTAGES: Record<string, string | ((socket: Socket) => void)> = {
  hangs: () => {},
  drips: drip,
  closes: (socket) => socket.destroy(),
  "is no licd": http(200, "<html>"),
  "sends an array": http(200, []),
  "sends another form": http(200, { success: true, data: { valid: "yes" } }),
  "sends a wrong time": http(200, { success: true, data: { ...VALID.data, license: { id: "lic_1", expiresAt: 7 } } }),
  "breaks off": http(200, "x".repeat(100)).slice(0, -50),
  "sends too much": http(200, JSON.stringify(VALID) + " ".repeat(2 << 20)),
  "is overloaded": http(503, { success: false, code: "overloaded" }, "Retry-After: 1"),
  "limits the rate": http(429, { success: false, code: "rate_limited" }, "Retry-After: 999"),
  "is a proxy": http(403, "<html>"),
  "knows no key": http(401, { success: false, code: "unauthorized", error: "no" }),
  redirects: http(302, "", "Location: http://127.0.0.1:9/"),
};

let server: Server;
let behaviour: string | ((socket: Socket) => void) = "";
const sockets = new Set<Socket>();

before(async () => {
  server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).once("data", () => {
      if (typeof behaviour === "string") socket.end(behaviour);
      else behaviour(socket);
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
});

after(() => {
  for (const socket of sockets) socket.destroy();
  server.close();
});

function misbehaving(): string {
  const address = server.address();
  assert.ok(address && typeof address === "object");
  return `http://127.0.0.1:${address.port}`;
}

/** A client whose key and product are known to be right, as after the first start. */
async function open(url: string, deadlineMs = 300) {
  const problems: string[] = [];
  const options = {
    url,
    key: `sk_live_${"0".repeat(38)}`,
    product: "prd_01h455vb4pex5vsknk084sn02q",
    deadlineMs,
    log: (problem: string) => problems.push(problem),
  };
  behaviour = http(200, { success: true, data: { role: "validate", released: [] } });
  return { licd: await Licd.open(options), problems };
}

for (const [name, response] of Object.entries(OUTAGES)) {
  test(`a server that ${name} leaves the user unknown, and no call hangs`, LATE, async () => {
    const { licd } = await open(misbehaving());
    behaviour = response;
    const result = await licd.check("ada", DENY);
    assert.deepEqual([result.kind, result.allowed], ["unknown", false]);
    assert.ok((await licd.check("ada", { whenUnknown: "allow" })).allowed);
    assert.equal((await licd.claim("ada", "AAAA", DENY)).kind, "unknown");
    await assert.rejects(licd.release("ada"), { name: name === "knows no key" ? "RequestError" : "UnavailableError" });
  });
}

test("a server that is slow is waited for, and one that does not exist is not", LATE, async () => {
  const { licd } = await open(misbehaving(), 20_000);
  behaviour = (socket) => void setTimeout(() => socket.end(http(200, VALID)), 50);
  assert.equal((await licd.check("ada", DENY)).kind, "licensed");
  const gone = await Licd.open({
    url: "http://127.0.0.1:9", key: `sk_live_${"0".repeat(38)}`, product: "prd_01h455vb4pex5vsknk084sn02q",
    log: () => {},
  });
  assert.equal((await gone.check("ada", DENY)).kind, "unknown");
});

test("a claim counts although the lease after it hangs", LATE, async () => {
  const fake = await FakeLicd.create();
  fake.addLicenseKey("GOOD", { leaseSeconds: 3600 });
  const licd = await Licd.open({
    ...fake.options, deadlineMs: 300, leases: { signingKeys: fake.signingKeys },
    fetch: (input, init) => {
      if (String(input).endsWith("/lease")) fake.fail("hanging");
      return fake.fetch(input, init);
    },
  });
  const claimed = await licd.claim("ada", "GOOD", DENY);
  assert.ok(claimed.kind === "licensed" && claimed.source === "fresh");
});

test("a fetch that ignores its signal holds up no call", LATE, async () => {
  const deaf = await Licd.open({
    url: misbehaving(), key: `sk_live_${"0".repeat(38)}`, product: "prd_01h455vb4pex5vsknk084sn02q",
    deadlineMs: 50, fetch: () => new Promise(() => {}), log: () => {},
  });
  assert.equal((await deaf.check("ada", DENY)).kind, "unknown");
});

test("a running licd licenses, leases, claims, refuses and releases", LATE, async () => {
  const signing = await admin("GET", "/signing-keys");
  if (signing.length === 0) await admin("POST", "/admin/signing-keys", {});
  const keys = (await admin("GET", "/signing-keys")).map((key: { jwk: JsonWebKey }) => key.jwk);
  const { product, license, key } = await sell({ maxLeaseSeconds: 86_400 });
  const made = await admin("POST", `/admin/licenses/${license}/keys`, {});
  let isUp = true;
  const licd = await Licd.open({
    url: URL, key, product, leases: { signingKeys: { keys }, device: "desk" }, pauseSeconds: 0, log: () => {},
    freshSeconds: 0, fetch: (...call) => (isUp ? fetch(...call) : Promise.reject(new TypeError("fetch failed"))),
  });
  assert.equal((await licd.check("tess", DENY)).kind, "refused");
  for (let start = 0; start < 2; start++) {
    const claimed = await licd.claim("tess", made.key.toLowerCase(), DENY);
    assert.ok(claimed.kind === "licensed" && claimed.has("export"), JSON.stringify(claimed));
  }
  const mistyped = await licd.claim("tess", `${made.key.slice(0, -1)}#`, DENY);
  assert.ok(mistyped.kind === "refused" && mistyped.reason.startsWith("license_key_"));
  isUp = false;
  const offline = await licd.check("tess", DENY);
  assert.ok(offline.kind === "licensed" && offline.source === "lease");
  isUp = true;
  await admin("PATCH", `/admin/licenses/${license}/status`, { status: "suspended" });
  const refused = await licd.check("tess", FRESH);
  assert.ok(refused.kind === "refused" && refused.reason === "suspended");
  isUp = false;
  assert.equal((await licd.check("tess", DENY)).kind, "refused", "the lease is gone");
});

test("a running licd gets its floating seat back", LATE, async () => {
  const { product, license, key } = await sell({ maxSeats: 1, seatIdleMinutes: 5 });
  const licd = await Licd.open({ url: URL, key, product });
  for (const userId of ["uma", "vera"]) await admin("POST", `/admin/licenses/${license}/assign`, { userId });
  assert.ok((await licd.check("uma", DENY)).allowed);
  const waiting = await licd.check("vera", DENY);
  assert.ok(waiting.kind === "refused" && waiting.reason === "exceeded_seats");
  assert.equal(await licd.release("uma"), 1);
  assert.ok((await licd.check("vera", DENY)).allowed);
});

test("a running licd says what is wrong with the key and the product", LATE, async () => {
  const { product, key } = await sell({});
  const reader = (await admin("POST", "/admin/keys", { name: "reader", role: "read" })).key as string;
  const wrong = [
    { key: `${key.slice(0, -6)}000000`, product },
    { key: reader, product },
    { key, product: product.replace(/.$/, (last) => (last === "0" ? "1" : "0")) },
  ];
  for (const options of wrong) {
    await assert.rejects(Licd.open({ url: URL, ...options }), ConfigurationError, JSON.stringify(options));
  }
});
