/** What the vendor does, with a running licd whose address and admin key are LICD_URL and LICD_KEY. */

import assert from "node:assert/strict";

export const URL = process.env["LICD_URL"]!;
const KEY = process.env["LICD_KEY"]!;

/** Sends a request of the vendor, and returns the data of the response. */
export async function admin(method: string, path: string, body?: object): Promise<any> {
  const headers = { Authorization: `Bearer ${KEY}`, "Content-Type": "application/json" };
  const init = { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) };
  const response = await fetch(`${URL}/api/v1${path}`, init);
  const envelope = (await response.json()) as { data: unknown };
  assert.ok(response.ok, JSON.stringify(envelope));
  return envelope.data;
}

/** Creates a product, a plan with these terms, a license, and a key for the application. */
export async function sell(plan: object) {
  const product = await admin("POST", "/admin/products", { name: `Reef ${crypto.randomUUID()}` });
  const terms = { productId: product.id, name: "Diver", features: ["export"], ...plan };
  const { id: planId } = await admin("POST", "/admin/plans", terms);
  const license = await admin("POST", "/admin/licenses", { planId });
  const key = await admin("POST", "/admin/keys", { name: "app", role: "validate" });
  return { product: product.id as string, license: license.id as string, key: key.key as string };
}
