/** The client: decides when to ask licd, and what counts without its answer. */

import { ConfigurationError, LicdError, RequestError, UnavailableError } from "./errors.js";
import { CLOCK_TOLERANCE, type Lease, verifyLease } from "./lease.js";
import { type LicdOptions, readOptions, type Settings } from "./options.js";
import { type CheckResult, type Licensed, refused, type WhenUnknown, withFeature } from "./result.js";
import { type Answer, Entry, readAnswer } from "./state.js";
import { type Reply, Transport } from "./transport.js";

export interface ClaimOptions {
  /** What the application does if nobody can say whether the user is licensed. */
  readonly whenUnknown: WhenUnknown;
  /** The feature that the user needs. Without it the result is refused, with `missing_feature`. */
  readonly feature?: string;
}

export interface CheckOptions extends ClaimOptions {
  /** Waits for licd, up to the deadline, before the last answer counts. */
  readonly fresh?: boolean;
  /** Keeps an edge runtime alive for a request that goes on after the result, as `ctx.waitUntil` does. */
  readonly waitUntil?: (work: Promise<unknown>) => void;
}

const VALIDATE = "/api/v1/validate";
const LEASE = "/api/v1/lease";
const MAX_USERS = 10_000;

/** A client of licd. Create one for each product, with `Licd.open`, and share it. */
export class Licd {
  readonly #settings: Settings;
  readonly #transport: Transport;
  readonly #entries = new Map<string, Promise<Entry>>();
  #pausedUntil = 0;
  #problem = "licd was not asked yet";

  private constructor(settings: Settings) {
    this.#settings = settings;
    this.#transport = new Transport(settings);
  }

  /**
   * Returns a client. Throws a ConfigurationError if the address, the key, the mode or the product is wrong.
   * licd is asked about the key and the product once, and the store remembers it. If licd does not respond,
   * the client is returned, and every check is unknown until it does.
   */
  static async open(options: LicdOptions): Promise<Licd> {
    const client = new Licd(readOptions(options));
    await client.#verify();
    return client;
  }

  /**
   * Returns whether the user is licensed. Returns the last answer immediately while it counts, and asks again
   * behind it; otherwise waits for licd, never longer than the deadline. Throws only if no program could ask
   * this, for example about an empty user.
   */
  async check(user: string, options: CheckOptions): Promise<CheckResult> {
    const { whenUnknown, feature, fresh = false, waitUntil } = readCall(user, options);
    const entry = await this.#entry(user);
    const known = await this.#known(user, entry);
    if (known?.kind === "licensed" && !fresh) {
      if (entry.state.fresh <= 0) {
        const refresh = this.#refresh(user, entry).catch((error: unknown) => {
          this.#settings.log(`licd rejected a check: ${error}`);
        });
        waitUntil?.(refresh);
      }
      return withFeature(known, feature);
    }
    const isAnswered = await this.#refresh(user, entry);
    return withFeature(await this.#result(user, entry, whenUnknown, isAnswered), feature);
  }

  /**
   * Gives the user the license of a key, in any spelling, and returns the result of a check. Safe to repeat at
   * every start. Fetches a lease if leases are on. A key that is no good is refused with its code, such as
   * `license_key_mistyped`, and changes nothing. Without a response the last answer counts.
   */
  async claim(user: string, licenseKey: string, options: ClaimOptions): Promise<CheckResult> {
    const { whenUnknown, feature } = readCall(user, options);
    if (!licenseKey.trim()) throw new TypeError("licenseKey is empty");
    const entry = await this.#entry(user);
    const [body, deadline] = [{ ...this.#question(user), key: licenseKey }, this.#transport.deadline()];
    const reply = await this.#ask(user, entry, "/api/v1/claim", body, deadline);
    if (reply.kind === "rejected" && reply.code.startsWith("license_key_")) {
      return refused(reply.code, "fresh");
    }
    const isAnswered = reply.kind === "data";
    if (isAnswered && this.#settings.leases && entry.state.answer?.valid) {
      await this.#ask(user, entry, LEASE, this.#leaseQuestion(user), deadline);
    }
    return withFeature(await this.#result(user, entry, whenUnknown, isAnswered), feature);
  }

  /**
   * Gives the user's floating seats back when the program ends, and returns how many. A seat that another
   * device uses stays, and so does one with a lease. Throws an UnavailableError without a response.
   */
  async release(user: string): Promise<number> {
    readUser(user);
    const entry = await this.#entry(user);
    const { answer, lease } = entry.state;
    const checkedAt = answer?.valid ? answer.lastCheckedAt : null;
    const body = { ...this.#question(user), ...(checkedAt ? { checkedAt } : {}) };
    const reply = await this.#transport.post("/api/v1/release", body, this.#transport.deadline());
    if (reply.kind === "rejected") throw rejection(reply);
    if (reply.kind === "none") throw new UnavailableError(reply.problem);
    const { released } = (reply.data ?? {}) as { released?: unknown };
    if (!Array.isArray(released)) throw new UnavailableError("an answer of an unknown form");
    entry.state.fresh = 0;
    if (lease === null) entry.state.left = 0;
    await entry.save();
    return released.length;
  }

  /**
   * Takes a lease from a file, as `licctl leases issue` prints it, on a machine without a network. Throws a
   * LicdError if it is not for this user, product and device, or has ended.
   */
  async installLease(user: string, token: string): Promise<Licensed> {
    readUser(user);
    const { leases, clock } = this.#settings;
    if (!leases) throw new ConfigurationError("the option leases is missing");
    const text = token.trim();
    const lease = await this.#verifyLease(user, text);
    if (typeof lease === "string") throw new LicdError(`this lease does not count: ${lease}`);
    const left = lease.expiresAt - Math.max(lease.issuedAt, clock.now());
    if (left <= 0) throw new LicdError("this lease does not count: it has ended");
    const entry = await this.#entry(user);
    entry.countDown();
    entry.kept = ++entry.asked;
    Object.assign(entry.state, { answer: answerOf(lease), left, lease: text, outage: null });
    await entry.save();
    return this.#licensed(entry, answerOf(lease), "lease");
  }

  /** Returns one line for a support request: what counts for the user, and why. It contains no secret. */
  async explainForSupport(user: string): Promise<string> {
    readUser(user);
    const { url, product, clock } = this.#settings;
    const entry = await this.#entry(user);
    const known = await this.#known(user, entry);
    const { outage } = entry.state;
    const verdict =
      known?.kind === "licensed"
        ? `licensed by ${known.licenseId} (${known.source}) until ${known.countsUntil.toISOString()}`
        : known
          ? `refused: ${known.reason}`
          : `unknown${outage ? ` since ${new Date(outage.since).toISOString()}` : ""}`;
    const now = new Date(clock.now()).toISOString();
    // An id may contain line ends.
    const id = user.replace(/\s+/g, " ");
    return `licd-client: user ${id}, ${product} at ${url}: ${verdict}; last problem: ${this.#problem}; ${now}`;
  }

  async #verify(): Promise<void> {
    const { url, key, product, store, log } = this.#settings;
    const [name, verified] = [await digest(["configuration", product]), await digest([url, key])];
    if ((await store.get(name).catch(() => null)) === verified) return;
    const deadline = this.#transport.deadline();
    const reply = await this.#transport.get("/api/v1/key", deadline);
    if (reply.kind === "rejected") {
      throw new ConfigurationError(`licd rejects the API key: ${reply.status} ${reply.code}`);
    }
    const { role } = reply.kind === "data" ? ((reply.data ?? {}) as { role?: unknown }) : {};
    if (reply.kind === "data" && role !== "validate" && role !== "admin") {
      throw new ConfigurationError(`the API key has the role ${String(role)}; it needs the role validate`);
    }
    // Names the product and changes nothing, because there is no such user.
    const unknownUser = { userId: "licd-client-configuration", productId: product };
    const release = () => this.#transport.post("/api/v1/release", unknownUser, deadline);
    const found = reply.kind === "none" ? reply : await release();
    if (found.kind === "rejected") {
      throw new ConfigurationError(`licd rejects the product: ${found.status} ${found.code}`);
    }
    if (found.kind === "none") {
      this.#fail(found.problem);
      log(`the key and the product are not verified: ${found.problem}`);
      return;
    }
    await store.set(name, verified).catch((error: unknown) => log(`nothing can be stored: ${error}`));
  }

  async #entry(user: string): Promise<Entry> {
    let loading = this.#entries.get(user);
    if (!loading) {
      loading = this.#load(user);
      const [oldest] = this.#entries.keys();
      if (this.#entries.size >= MAX_USERS && oldest !== undefined) this.#entries.delete(oldest);
    } else {
      this.#entries.delete(user);
    }
    // The map is in order of use.
    this.#entries.set(user, loading);
    return loading;
  }

  async #load(user: string): Promise<Entry> {
    const { product, store, clock, log } = this.#settings;
    const entry = new Entry(await digest([product, user]), store, clock, log);
    await entry.load();
    // The stored answer may have been written by hand, unlike its lease.
    if (this.#settings.leases) entry.state.fresh = 0;
    return entry;
  }

  /** What counts without asking, or undefined if nothing does. Counts down. */
  async #known(user: string, entry: Entry): Promise<Exclude<CheckResult, { kind: "unknown" }> | undefined> {
    entry.countDown();
    const { answer, left, fresh, lease } = entry.state;
    if (answer && !answer.valid) return refused(answer.reason, "remembered");
    if (!this.#settings.leases) {
      const counts = answer && Math.max(left, fresh) > 0;
      return counts ? this.#licensed(entry, answer, "remembered") : undefined;
    }
    if (answer && fresh > 0) return this.#licensed(entry, answer, "remembered");
    const kept = lease !== null && left > 0 ? await this.#verifyLease(user, lease) : "there is none";
    if (typeof kept === "string") return undefined;
    const hasEnded = this.#settings.clock.now() >= kept.expiresAt + CLOCK_TOLERANCE;
    return hasEnded ? undefined : this.#licensed(entry, answerOf(kept), "lease");
  }

  #licensed(entry: Entry, answer: Answer & { valid: true }, source: Licensed["source"]): Licensed {
    const { left, fresh, seen } = entry.state;
    return {
      kind: "licensed",
      allowed: true,
      features: answer.features,
      licenseId: answer.licenseId,
      expiresAt: answer.expiresAt === null ? null : new Date(answer.expiresAt),
      source,
      countsUntil: new Date(seen + Math.max(left, fresh, 0)),
      has: (feature) => answer.features.includes(feature),
    };
  }

  /** The result after a request, whether licd answered it or not. */
  async #result(user: string, entry: Entry, whenUnknown: WhenUnknown, isAnswered: boolean): Promise<CheckResult> {
    const { answer, outage, seen } = entry.state;
    if (isAnswered && answer?.valid) return this.#licensed(entry, answer, "fresh");
    const known = await this.#known(user, entry);
    if (known) return isAnswered ? { ...known, source: "fresh" } : known;
    const isAllowing = whenUnknown === "allow" && outage !== null;
    const allowed = isAllowing && outage.left > 0;
    return {
      kind: "unknown",
      allowed,
      features: [],
      since: new Date(outage?.since ?? seen),
      until: isAllowing ? new Date(seen + outage.left) : null,
      problem: this.#problem,
      has: () => allowed,
    };
  }

  /** Asks licd once, however many checks of the user wait, and returns whether it answered. */
  #refresh(user: string, entry: Entry): Promise<boolean> {
    entry.refreshing ??= this.#validate(user, entry).finally(() => (entry.refreshing = null));
    return entry.refreshing;
  }

  async #validate(user: string, entry: Entry): Promise<boolean> {
    if (this.#settings.clock.monotonic() < this.#pausedUntil) {
      this.#beginOutage(entry);
      return false;
    }
    const isLease = await this.#isLeaseDue(user, entry);
    const body = isLease ? this.#leaseQuestion(user) : this.#question(user);
    const deadline = this.#transport.deadline();
    return (await this.#ask(user, entry, isLease ? LEASE : VALIDATE, body, deadline)).kind === "data";
  }

  /** Whether there is no lease, or half of it is over, at a moment that differs among machines. */
  async #isLeaseDue(user: string, { state }: Entry): Promise<boolean> {
    if (!this.#settings.leases) return false;
    const lease = state.lease === null ? "there is none" : await this.#verifyLease(user, state.lease);
    if (typeof lease === "string") return true;
    return state.left <= (lease.expiresAt - lease.issuedAt) * (0.5 - 0.1 * Math.random());
  }

  /** Sends a question and keeps its answer. Throws a RequestError if no program could ask it. */
  async #ask(user: string, entry: Entry, path: string, body: object, deadline: number): Promise<Reply> {
    const number = ++entry.asked;
    const reply = await this.#transport.post(path, body, deadline);
    const answer = reply.kind === "data" ? readAnswer(reply.data) : undefined;
    if (reply.kind === "data" && answer) {
      this.#pausedUntil = 0;
      this.#problem = "none";
      // A later question may have been answered first.
      if (number > entry.kept) {
        entry.kept = number;
        await this.#keep(user, entry, answer, reply.data);
      }
      return reply;
    }
    if (reply.kind === "rejected") {
      if (reply.code.startsWith("license_key_")) return reply;
      if ([400, 413, 422].includes(reply.status)) throw rejection(reply);
      // The key was replaced or revoked, or the product deleted: no customer should pay for that.
      this.#settings.log(`licd rejects this program: ${reply.status} ${reply.code}: ${reply.message}`);
    }
    const problem = reply.kind === "none" ? reply.problem : "an answer of an unknown form";
    this.#fail(reply.kind === "rejected" ? `${reply.status} ${reply.code}` : problem);
    this.#beginOutage(entry);
    await entry.save();
    return { kind: "none", problem };
  }

  #fail(problem: string): void {
    const { clock, pauseSeconds } = this.#settings;
    this.#problem = problem;
    this.#pausedUntil = clock.monotonic() + pauseSeconds * 1000;
  }

  #beginOutage(entry: Entry): void {
    entry.countDown();
    entry.state.outage ??= { since: entry.state.seen, left: this.#settings.allowSeconds * 1000 };
  }

  async #keep(user: string, entry: Entry, answer: Answer, data: unknown): Promise<void> {
    const { leases, freshSeconds, rememberSeconds, log } = this.#settings;
    const { lease: issued, leaseReason } = data as { lease?: { token?: unknown } | null; leaseReason?: unknown };
    const token = issued?.token;
    const lease = leases && typeof token === "string" ? await this.#verifyLease(user, token) : null;
    entry.countDown();
    const { state } = entry;
    Object.assign(state, { answer, outage: null });
    if (!answer.valid) {
      Object.assign(state, { fresh: 0, left: 0, lease: null });
    } else {
      const end = answer.expiresAt === null ? Infinity : Date.parse(answer.expiresAt) - state.seen;
      // An answer in the days of grace has an end in the past.
      const longest = end > 0 ? end : Infinity;
      const seconds = Math.min(freshSeconds, answer.checkAfterSeconds ?? Infinity);
      state.fresh = Math.min(seconds * 1000, longest);
      if (!leases) state.left = Math.min(rememberSeconds * 1000, longest);
    }
    if (lease !== null && typeof lease === "object") {
      Object.assign(state, { lease: token, left: lease.expiresAt - lease.issuedAt });
    } else if (typeof lease === "string") {
      log(`the lease of licd does not count here: ${lease}`);
    } else if (leaseReason) {
      log(`licd issued no lease: ${String(leaseReason)}`);
    }
    await entry.save();
  }

  #verifyLease(user: string, token: string): Promise<Lease | string> {
    const { leases, product } = this.#settings;
    if (!leases) return Promise.resolve("leases are off");
    return verifyLease(token, leases.signingKeys, { user, product, device: leases.device ?? null });
  }

  #question(user: string): { userId: string; productId: string } {
    return { userId: user, productId: this.#settings.product };
  }

  #leaseQuestion(user: string): object {
    const { device, ttlSeconds } = this.#settings.leases ?? {};
    return { ...this.#question(user), device, ttlSeconds };
  }
}

function answerOf(lease: Lease): Answer & { valid: true } {
  const { licenseId, features, licenseExpiresAt: expiresAt } = lease;
  return { valid: true, licenseId, features, expiresAt, checkAfterSeconds: null, lastCheckedAt: null };
}

/** Returns the options of a call. Throws a TypeError also for programs whose types nobody has checked. */
function readCall<T extends ClaimOptions>(user: string, options: T): T {
  readUser(user);
  if (options?.whenUnknown !== "allow" && options?.whenUnknown !== "deny") {
    throw new TypeError('whenUnknown must be "allow" or "deny"');
  }
  return options;
}

function readUser(user: string): void {
  if (typeof user !== "string" || user === "") throw new TypeError("user must be your id for the user");
}

function rejection(reply: Reply & { kind: "rejected" }): RequestError {
  return new RequestError(reply.status, reply.code, reply.message, reply.requestId);
}

/** A name for the store that tells nothing. */
async function digest(parts: readonly string[]): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(parts));
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
