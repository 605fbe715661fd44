/** Whether a lease counts: its signature, by the keys in the program, and its claims. */

import { fromBase64 } from "./base64.js";

/** What `licctl signing-keys export` prints. */
export interface SigningKeys {
  readonly keys: readonly (JsonWebKey & { readonly kid?: string })[];
}

/** The claims of a verified lease. Times are in milliseconds since 1970. */
export interface Lease {
  readonly issuedAt: number;
  readonly expiresAt: number;
  readonly licenseId: string;
  readonly features: readonly string[];
  readonly licenseExpiresAt: string | null;
}

/** Whom the lease must be for. A device of null accepts a lease for any device. */
export interface LeaseHolder {
  readonly user: string;
  readonly product: string;
  readonly device: string | null;
}

/** How far the clocks of licd and this machine may differ, in milliseconds. */
export const CLOCK_TOLERANCE = 300_000;
const ALGORITHM = { name: "ECDSA", namedCurve: "P-256" } as const;

/** Returns the lease, or a sentence that says why it does not count. Does not compare its end with the clock. */
export async function verifyLease(
  token: string,
  keys: SigningKeys,
  holder: LeaseHolder,
): Promise<Lease | string> {
  try {
    const [head, body, signature, ...rest] = token.split(".");
    if (!head || !body || !signature || rest.length > 0) return "it is not a signed token";
    const header = parse(head);
    if (header["alg"] !== "ES256" || header["typ"] !== "licd-lease+jwt") return "it is of another type";
    const jwk = keys.keys.find((key) => key.kid === header["kid"]);
    if (!jwk) return "no key of this program has signed it";
    const key = await crypto.subtle.importKey("jwk", jwk, ALGORITHM, false, ["verify"]);
    const signed = new TextEncoder().encode(`${head}.${body}`);
    const algorithm = { name: "ECDSA", hash: "SHA-256" };
    if (!(await crypto.subtle.verify(algorithm, key, decode(signature), signed))) {
      return "its signature is wrong";
    }
    return readClaims(parse(body), holder);
  } catch (error) {
    return `it cannot be read: ${error}`;
  }
}

function readClaims(claims: Record<string, unknown>, holder: LeaseHolder): Lease | string {
  const { sub, aud, device, iat, exp, features, licenseId, licenseExpiresAt } = claims;
  if (sub !== holder.user) return "it is for another user";
  if (aud !== holder.product) return "it is for another product";
  // A lease for any device may have been copied from another one.
  if (holder.device !== null && device !== holder.device) return "it is for another device";
  const isComplete =
    typeof iat === "number" && typeof exp === "number" && typeof licenseId === "string" &&
    Array.isArray(features) && features.every((feature) => typeof feature === "string") &&
    (licenseExpiresAt === null || typeof licenseExpiresAt === "string");
  if (!isComplete) return "it lacks claims";
  return { issuedAt: iat * 1000, expiresAt: exp * 1000, licenseId, features, licenseExpiresAt };
}

function parse(part: string): Record<string, unknown> {
  return JSON.parse(new TextDecoder().decode(decode(part))) as Record<string, unknown>;
}

function decode(base64url: string): Uint8Array<ArrayBuffer> {
  return fromBase64(base64url.replaceAll("-", "+").replaceAll("_", "/"));
}
