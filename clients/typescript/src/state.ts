/**
 * What a client knows of a user: the last answer, the lease, and how long both still count. Times are counted
 * down, so setting the clock back or forth uses them up and never extends them.
 */

import type { Clock } from "./clock.js";

/** Keeps texts across restarts. They contain no API key. */
export interface Store {
  get(name: string): Promise<string | null>;
  /** Replaces the text in one step: a crash leaves the old or the new one. */
  set(name: string, text: string): Promise<void>;
}

export class MemoryStore implements Store {
  private readonly texts = new Map<string, string>();

  async get(name: string): Promise<string | null> {
    return this.texts.get(name) ?? null;
  }

  async set(name: string, text: string): Promise<void> {
    this.texts.set(name, text);
  }
}

export type Answer =
  | {
      readonly valid: true;
      readonly licenseId: string;
      readonly expiresAt: string | null;
      readonly features: readonly string[];
      readonly checkAfterSeconds: number | null;
      readonly lastCheckedAt: string | null;
    }
  | { readonly valid: false; readonly reason: string };

/** All times are in milliseconds. */
export interface State {
  answer: Answer | null;
  /** When the times below were counted down last. */
  seen: number;
  /** For how long the answer is used without asking. */
  fresh: number;
  /** For how long the answer, or the lease, counts without licd. */
  left: number;
  lease: string | null;
  /** The outage without any answer: when it began, and for how long "allow" still counts. */
  outage: { since: number; left: number } | null;
}

export class Entry {
  state: State = { answer: null, seen: 0, fresh: 0, left: 0, lease: null, outage: null };
  /** Numbers of the last request that was sent, and of the last whose answer was kept. */
  asked = 0;
  kept = 0;
  refreshing: Promise<boolean> | null = null;
  private ticked: number | null = null;
  private saving: Promise<void> = Promise.resolve();

  constructor(
    private readonly name: string,
    private readonly store: Store,
    private readonly clock: Clock,
    private readonly log: (message: string) => void,
  ) {}

  /** Reads the stored state. A text that nobody can read is none. */
  async load(): Promise<void> {
    try {
      const text = await this.store.get(this.name);
      this.state = (text === null ? null : parseState(text)) ?? this.state;
    } catch (error) {
      this.log(`the last answer cannot be read: ${error}`);
    }
  }

  /** Subtracts the time since the last call, by the clock that shows more of it. */
  countDown(): void {
    const { state } = this;
    const [now, monotonic] = [this.clock.now(), this.clock.monotonic()];
    const passed = Math.max(Math.abs(now - state.seen), monotonic - (this.ticked ?? monotonic));
    [state.seen, this.ticked] = [now, monotonic];
    state.fresh -= passed;
    state.left -= passed;
    if (state.outage) state.outage.left -= passed;
  }

  /** Stores the state after all earlier ones. A store that fails costs the memory and no check. */
  save(): Promise<void> {
    const text = JSON.stringify(this.state);
    this.saving = this.saving
      .then(() => this.store.set(this.name, text))
      .catch((error: unknown) => this.log(`the last answer is not stored: ${error}`));
    return this.saving;
  }
}

/** Returns the answer in the data of a response, or undefined if it has another form. */
export function readAnswer(data: unknown): Answer | undefined {
  const { valid, reason, license, features, checkAfterSeconds, activation } = members(data);
  if (valid === false) return { valid, reason: typeof reason === "string" ? reason : "unknown" };
  const { id, expiresAt } = members(license);
  const { lastCheckedAt } = members(activation);
  const isEnd = expiresAt === null || (typeof expiresAt === "string" && !isNaN(Date.parse(expiresAt)));
  if (valid !== true || typeof id !== "string" || !isEnd || !isTexts(features)) return undefined;
  return {
    valid,
    licenseId: id,
    expiresAt: expiresAt as string | null,
    features,
    checkAfterSeconds: typeof checkAfterSeconds === "number" ? checkAfterSeconds : null,
    lastCheckedAt: typeof lastCheckedAt === "string" ? lastCheckedAt : null,
  };
}

function parseState(text: string): State | null {
  const { answer, seen, fresh, left, lease, outage } = members(JSON.parse(text));
  const { since, left: outageLeft } = members(outage);
  const known = readStored(answer);
  const isState =
    isNumber(seen) && isNumber(fresh) && isNumber(left) && known !== undefined &&
    (lease === null || typeof lease === "string");
  if (!isState) return null;
  const kept = isNumber(since) && isNumber(outageLeft) ? { since, left: outageLeft } : null;
  return { answer: known, seen, fresh, left, lease, outage: kept };
}

/** An answer as it is stored, which is flatter than that of licd. */
function readStored(answer: unknown): Answer | null | undefined {
  if (answer === null) return null;
  const { licenseId, expiresAt, lastCheckedAt, ...rest } = members(answer);
  const license = { id: licenseId, expiresAt };
  return readAnswer({ ...rest, license, activation: { lastCheckedAt } });
}

function members(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((text) => typeof text === "string");
}
