/** A licd and a clock for the tests of programs that use this package. No network, no waiting. */

import type { Clock } from "./clock.js";
import type { SigningKeys } from "./lease.js";

/** A clock that only tests move. Waits end immediately. */
export class FakeClock implements Clock {
  private passed = 0;

  constructor(private start: number = Date.parse("2027-01-31T12:00:00Z")) {}

  now(): number {
    return this.start + this.passed;
  }

  monotonic(): number {
    return this.passed;
  }

  async sleep(): Promise<void> {}

  /** Lets time pass, by both clocks. */
  advance(seconds: number): void {
    this.passed += seconds * 1000;
  }

  /** Sets the user's clock, and lets no time pass. */
  set(now: number): void {
    this.start = now - this.passed;
  }
}

/** What licd says of a licensed user. */
export interface FakeLicense {
  readonly features?: readonly string[];
  readonly expiresAt?: string | null;
  readonly checkAfterSeconds?: number;
  /** How long a lease lasts, in seconds; without it there is none. */
  readonly leaseSeconds?: number;
}

export type Failure =
  /** No connection. */
  | "unreachable"
  /** A connection without a response, until the deadline. */
  | "hanging"
  /** A response with this status. */
  | number;

const PRODUCT = "prd_01h455vb4pex5vsknk084sn02q";
const LICENSE = "lic_01h455vb4pex5vsknk084sn02q";
const ALGORITHM = { name: "ECDSA", namedCurve: "P-256" } as const;

/** A licd in memory. Users are unknown, so refused with `no_license`, until the test says otherwise. */
export class FakeLicd {
  /** The paths of all requests, the oldest first. */
  readonly requests: string[] = [];
  private readonly answers = new Map<string, FakeLicense | string>();
  private readonly keys = new Map<string, FakeLicense | string>();
  private failure: Failure | null = null;

  private constructor(
    private readonly pair: CryptoKeyPair,
    readonly signingKeys: SigningKeys,
    readonly clock: FakeClock,
  ) {}

  static async create(clock = new FakeClock()): Promise<FakeLicd> {
    const pair = await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
    const jwk = await crypto.subtle.exportKey("jwk", pair.publicKey);
    return new FakeLicd(pair, { keys: [{ ...jwk, kid: "fake" }] }, clock);
  }

  /** The options for `Licd.open` that make it ask this licd. */
  get options() {
    return {
      url: "https://licd.test",
      key: `sk_test_${"0".repeat(38)}`,
      mode: "test" as const,
      product: PRODUCT,
      clock: this.clock,
      fetch: this.fetch,
      log: () => {},
    };
  }

  grant(user: string, license: FakeLicense = {}): void {
    this.answers.set(user, license);
  }

  refuse(user: string, reason = "no_license"): void {
    this.answers.set(user, reason);
  }

  /** Lets a license key be claimed; with a code such as `license_key_used_up`, it is refused. */
  addLicenseKey(key: string, outcome: FakeLicense | string = {}): void {
    this.keys.set(key, outcome);
  }

  fail(failure: Failure): void {
    this.failure = failure;
  }

  recover(): void {
    this.failure = null;
  }

  readonly fetch = async (input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> => {
    const path = new URL(String(input)).pathname;
    this.requests.push(path);
    if (this.failure === "unreachable") throw new TypeError("fetch failed");
    if (this.failure === "hanging") {
      return new Promise((_, reject) => {
        init.signal?.addEventListener("abort", () => reject(init.signal?.reason));
      });
    }
    if (this.failure !== null) return rejected(this.failure, `fake_${this.failure}`);
    const body = JSON.parse(String(init.body ?? "{}")) as Record<string, string>;
    if (path === "/api/v1/key") return succeeded({ role: "validate", mode: "test" });
    if (path === "/api/v1/release") {
      const license = this.answers.get(body["userId"]!);
      const isHeld = typeof license === "object" && license.checkAfterSeconds !== undefined;
      return succeeded({ released: isHeld ? [{ licenseId: LICENSE }] : [] });
    }
    if (path === "/api/v1/claim") {
      const outcome = this.keys.get(body["key"]!) ?? "license_key_not_found";
      if (typeof outcome === "string") return rejected(409, outcome);
      this.answers.set(body["userId"]!, outcome);
    }
    return this.answer(body["userId"]!, body["device"], path === "/api/v1/lease");
  };

  private async answer(user: string, device: string | undefined, wantsLease: boolean): Promise<Response> {
    const license = this.answers.get(user) ?? "no_license";
    if (typeof license === "string") return succeeded({ valid: false, reason: license });
    const { features = [], expiresAt = null, checkAfterSeconds = null, leaseSeconds } = license;
    const at = new Date(this.clock.now()).toISOString();
    const data = {
      valid: true,
      license: { id: LICENSE, productId: PRODUCT, expiresAt },
      activation: { lastCheckedAt: at },
      features,
      checkAfterSeconds,
    };
    if (!wantsLease) return succeeded(data);
    if (leaseSeconds === undefined) return succeeded({ ...data, lease: null, leaseReason: "not_offered" });
    const iat = Math.floor(this.clock.now() / 1000);
    const claims = {
      sub: user, aud: PRODUCT, iat, exp: iat + leaseSeconds, licenseId: LICENSE, features, device,
      licenseExpiresAt: expiresAt,
    };
    return succeeded({ ...data, lease: { token: await this.sign(claims) } });
  }

  private async sign(claims: object): Promise<string> {
    const header = { alg: "ES256", typ: "licd-lease+jwt", kid: "fake" };
    const bytes = (text: string) => new TextEncoder().encode(text);
    const text = [header, claims].map((part) => base64url(bytes(JSON.stringify(part)))).join(".");
    const algorithm = { name: "ECDSA", hash: "SHA-256" };
    const signature = await crypto.subtle.sign(algorithm, this.pair.privateKey, bytes(text));
    return `${text}.${base64url(new Uint8Array(signature))}`;
  }
}

function base64url(bytes: Uint8Array): string {
  const base64 = btoa(String.fromCharCode(...bytes));
  return base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function succeeded(data: unknown): Response {
  return Response.json({ success: true, data });
}

function rejected(status: number, code: string): Response {
  return Response.json({ success: false, code, error: code }, { status });
}
