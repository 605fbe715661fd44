/** Verifies the signature of a webhook (Standard Webhooks), so that a receiver can trust its body. */

import { fromBase64 } from "./base64.js";
import { LicdError } from "./errors.js";

/** An event of licd, as the reference of events describes it. */
export interface WebhookEvent {
  readonly id: string;
  readonly type: string;
  readonly subject: { readonly type: string; readonly id: string };
  readonly [member: string]: unknown;
}

/** How far the time of a delivery may differ from now, in seconds. */
const TOLERANCE = 300;

type HeaderRecord = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Returns the event of a delivery. Throws a LicdError unless `secret` has signed these bytes within the last
 * five minutes.
 *
 * @param body The bytes or the text of the request's body, before anything parses it.
 * @param headers The request's headers, with names in lower case if they are a plain object.
 * @param secret The webhook's secret, which begins with `whsec_`.
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: Headers | HeaderRecord,
  secret: string,
  now: () => number = Date.now,
): Promise<WebhookEvent> {
  const header = (name: string) => {
    const value = headers instanceof Headers ? headers.get(name) : (headers as HeaderRecord)[name];
    if (typeof value !== "string") throw new LicdError(`the request has no header ${name}`);
    return value;
  };
  const [id, timestamp] = [header("webhook-id"), header("webhook-timestamp")];
  if (!(Math.abs(now() / 1000 - Number(timestamp)) <= TOLERANCE)) {
    throw new LicdError("the webhook is older than five minutes, or this machine's clock is wrong");
  }
  const text = typeof body === "string" ? body : new TextDecoder().decode(body);
  const bytes = fromBase64(secret.replace(/^whsec_/, ""));
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", bytes, algorithm, false, ["verify"]);
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${text}`);
  // Two signatures while a secret is being replaced.
  for (const part of header("webhook-signature").split(" ")) {
    const [version, signature] = part.split(",");
    if (version !== "v1" || !signature) continue;
    if (await crypto.subtle.verify("HMAC", key, signatureBytes(signature), signed)) {
      return JSON.parse(text) as WebhookEvent;
    }
  }
  throw new LicdError("the webhook's signature is wrong");
}

/** The bytes of a signature; none if it is not Base64, so that no signature matches. */
function signatureBytes(text: string): Uint8Array<ArrayBuffer> {
  try {
    return fromBase64(text);
  } catch {
    return new Uint8Array();
  }
}
