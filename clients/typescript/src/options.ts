/** The options of a client, and their check. */

import { type Clock, systemClock } from "./clock.js";
import { ConfigurationError } from "./errors.js";
import type { SigningKeys } from "./lease.js";
import { MemoryStore, type Store } from "./state.js";

/** Leases keep a user licensed without the network, and cannot be copied or written by hand. */
export interface LeaseOptions {
  /** What `licctl signing-keys export` prints, as a part of the program. */
  readonly signingKeys: SigningKeys;
  /** The machine as the program recognizes it again. A lease for another device does not count. */
  readonly device?: string;
  /** How long a lease is to last, in seconds. Licenses with floating seats require it. */
  readonly ttlSeconds?: number;
}

export interface LicdOptions {
  /** The address of licd, such as `https://licenses.example.com`. */
  readonly url: string;
  /** An API key of role `validate`. */
  readonly key: string;
  /** The id of your product, `prd_…`. */
  readonly product: string;
  /** The mode that the key must have; `live` by default, so that no test key is shipped. */
  readonly mode?: "live" | "test";
  /** Where answers are kept across restarts; in memory by default. */
  readonly store?: Store;
  readonly leases?: LeaseOptions;
  /** Longest time of a call, in milliseconds, whatever the network does; 5000 by default. */
  readonly deadlineMs?: number;
  /**
   * Seconds for which an answer counts without another request; 300 by default. With floating seats, at
   * most the `checkAfterSeconds` of the answer. A revocation takes effect later by this time.
   */
  readonly freshSeconds?: number;
  /** Seconds for which the last answer counts if licd gives none, without `leases`; 3 days by default. */
  readonly rememberSeconds?: number;
  /** Seconds of an outage for which `whenUnknown: "allow"` counts; 3 days by default. */
  readonly allowSeconds?: number;
  /** Seconds after a request without an answer in which no other is sent; 10 by default. */
  readonly pauseSeconds?: number;
  /** Reports what the developer should know; `console.warn` by default. Its text contains no key. */
  readonly log?: (message: string) => void;
  readonly fetch?: typeof fetch;
  readonly clock?: Clock;
}

export type Settings = Required<Omit<LicdOptions, "leases" | "mode">> & {
  readonly leases: LeaseOptions | null;
};

const DAY = 24 * 3600;

/** Returns the options with their defaults. Throws a ConfigurationError that names the wrong one. */
export function readOptions(options: LicdOptions): Settings {
  const { url, key, product, mode = "live" } = options;
  if (!/^sk_(live|test)_[0-9A-Za-z]{38}$/.test(key)) {
    throw new ConfigurationError("key must be an API key: sk_live_ or sk_test_ and 38 characters");
  }
  if (!key.startsWith(`sk_${mode}_`)) {
    throw new ConfigurationError(`key is not of mode ${mode}; set the option mode if it should not be`);
  }
  if (!/^prd_[0-9a-z]{26}$/.test(product)) {
    throw new ConfigurationError("product must be the id of a product: prd_ and 26 characters");
  }
  if (options.leases && !(options.leases.signingKeys?.keys?.length > 0)) {
    throw new ConfigurationError("signingKeys must be what `licctl signing-keys export` prints");
  }
  const seconds = (name: keyof LicdOptions, otherwise: number) => {
    const value = options[name] ?? otherwise;
    if (typeof value === "number" && value >= 0 && value < Infinity) return value;
    throw new ConfigurationError(`${name} must be a number that is not negative`);
  };
  return {
    url: readUrl(url),
    key,
    product,
    store: options.store ?? new MemoryStore(),
    leases: options.leases ?? null,
    deadlineMs: seconds("deadlineMs", 5000),
    freshSeconds: seconds("freshSeconds", 300),
    rememberSeconds: seconds("rememberSeconds", 3 * DAY),
    allowSeconds: seconds("allowSeconds", 3 * DAY),
    pauseSeconds: seconds("pauseSeconds", 10),
    log: options.log ?? ((message) => console.warn(`licd: ${message}`)),
    fetch: options.fetch ?? ((...call) => fetch(...call)),
    clock: options.clock ?? systemClock,
  };
}

function readUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username) {
    throw new ConfigurationError("url must be an address such as https://licenses.example.com");
  }
  const base = url.href.replace(/\/+$/, "");
  if (base.endsWith("/api/v1")) {
    throw new ConfigurationError("url must be the address of licd, without /api/v1");
  }
  return base;
}
