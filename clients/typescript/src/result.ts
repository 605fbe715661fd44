/** The result of a check: one of three kinds, each of which has `allowed`. */

/** What the application does if nobody can say whether the user is licensed. */
export type WhenUnknown = "allow" | "deny";

export interface Licensed {
  readonly kind: "licensed";
  readonly allowed: true;
  readonly features: readonly string[];
  readonly licenseId: string;
  /** End of the license; null if it has none. */
  readonly expiresAt: Date | null;
  /** Whether licd answered just now, or the last answer or a lease counts. */
  readonly source: "fresh" | "remembered" | "lease";
  /** Time until which the answer counts without licd, if the clock is right. */
  readonly countsUntil: Date;
  has(feature: string): boolean;
}

export interface Refused {
  readonly kind: "refused";
  readonly allowed: false;
  readonly features: readonly string[];
  /**
   * A reason of licd such as `expired`, `missing_feature`, or the code of a license key's error such as
   * `license_key_mistyped`. licd may add reasons; each means that the user is not licensed.
   */
  readonly reason: string;
  readonly source: "fresh" | "remembered" | "lease";
  has(feature: string): false;
}

export interface Unknown {
  readonly kind: "unknown";
  /** Whether `whenUnknown` is `"allow"` and `until` has not passed. */
  readonly allowed: boolean;
  readonly features: readonly string[];
  /** Time of the first request that licd did not answer. */
  readonly since: Date;
  /** Time until which `"allow"` counts, if the clock is right; null with `"deny"`. */
  readonly until: Date | null;
  /** Why there is no answer, for your log. */
  readonly problem: string;
  /** Any feature, if the user is allowed. */
  has(feature: string): boolean;
}

export type CheckResult = Licensed | Refused | Unknown;

export function refused(reason: string, source: Refused["source"]): Refused {
  return { kind: "refused", allowed: false, features: [], reason, source, has: () => false };
}

/** The result for a user who needs this feature too. */
export function withFeature(result: CheckResult, feature: string | undefined): CheckResult {
  const isMissing = result.kind === "licensed" && feature !== undefined && !result.has(feature);
  return isMissing ? refused("missing_feature", result.source) : result;
}
