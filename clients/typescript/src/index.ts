/** A client of licd without dependencies, for Node, Bun, Deno, Electron's main process and edge runtimes. */

export type { Clock } from "./clock.js";
export { Licd } from "./client.js";
export type { CheckOptions, ClaimOptions } from "./client.js";
export { ConfigurationError, LicdError, RequestError, UnavailableError } from "./errors.js";
export type { SigningKeys } from "./lease.js";
export type { LeaseOptions, LicdOptions } from "./options.js";
export type { CheckResult, Licensed, Refused, Unknown, WhenUnknown } from "./result.js";
export type { Store } from "./state.js";
export { verifyWebhook } from "./webhook.js";
export type { WebhookEvent } from "./webhook.js";
