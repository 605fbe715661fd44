/** Requests to licd: retried, and never longer than the deadline in all. */

import type { Settings } from "./options.js";

export type Reply =
  /** licd did what was asked. */
  | { readonly kind: "data"; readonly data: unknown }
  /** licd refused the request with an error of its own. */
  | {
      readonly kind: "rejected";
      readonly status: number;
      readonly code: string;
      readonly message: string;
      readonly requestId: string | null;
    }
  /** No usable response, for this reason. */
  | { readonly kind: "none"; readonly problem: string };

const MAX_ATTEMPTS = 3;
const MAX_BODY_BYTES = 1024 * 1024;
/** The wait before the second attempt, in milliseconds. It doubles with each attempt. */
const FIRST_WAIT = 250;

/** A time by `performance.now()`. */
type Deadline = number;

type Attempt = Reply & { readonly retryAfter?: number | null };

export class Transport {
  constructor(private readonly settings: Settings) {}

  /** The end of a call that begins now, which may send several requests. */
  deadline(): Deadline {
    return performance.now() + this.settings.deadlineMs;
  }

  get(path: string, deadline: Deadline): Promise<Reply> {
    return this.inTime(deadline, (signal) => this.attempts(path, { method: "GET" }, deadline, signal));
  }

  post(path: string, body: object, deadline: Deadline): Promise<Reply> {
    const request = { method: "POST", body: JSON.stringify(body) };
    return this.inTime(deadline, (signal) => this.attempts(path, request, deadline, signal));
  }

  /** Runs `work` until the deadline, even if `fetch` ignores its signal. */
  private async inTime(
    deadline: Deadline,
    work: (signal: AbortSignal) => Promise<Reply>,
  ): Promise<Reply> {
    const controller = new AbortController();
    const late = new Promise<Reply>((resolve) => {
      controller.signal.addEventListener("abort", () => {
        resolve({ kind: "none", problem: `no response within ${this.settings.deadlineMs} ms` });
      });
    });
    const timer = setTimeout(() => controller.abort(), deadline - performance.now());
    try {
      return await Promise.race([work(controller.signal), late]);
    } finally {
      clearTimeout(timer);
    }
  }

  private async attempts(
    path: string,
    request: RequestInit,
    deadline: Deadline,
    signal: AbortSignal,
  ): Promise<Reply> {
    for (let number = 1; ; number++) {
      const { retryAfter, ...reply } = await this.attempt(path, request, signal);
      if (retryAfter === undefined || number === MAX_ATTEMPTS || signal.aborted) return reply;
      const backoff = FIRST_WAIT * 2 ** (number - 1) * (0.5 + Math.random() / 2);
      const wait = retryAfter === null ? backoff : retryAfter * 1000;
      if (performance.now() + wait >= deadline) return reply;
      await this.settings.clock.sleep(wait);
    }
  }

  /** Sends the request once. A reply with `retryAfter`, in seconds if licd named it, is worth another attempt. */
  private async attempt(path: string, request: RequestInit, signal: AbortSignal): Promise<Attempt> {
    const { url, key, fetch, deadlineMs } = this.settings;
    // Half of the time, so that a connection that has died does not take all of it.
    const first = AbortSignal.any([signal, AbortSignal.timeout(deadlineMs / 2)]);
    const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
    try {
      const response = await fetch(url + path, { ...request, headers, redirect: "manual", signal: first });
      return read(response, await readText(response));
    } catch (error) {
      return { kind: "none", problem: describe(error), retryAfter: null };
    }
  }
}

/** Reads a body up to a limit, so that no server can fill the memory. */
async function readText(response: Response): Promise<string> {
  if (!response.body) return "";
  const reader = response.body.getReader();
  const parts: Uint8Array[] = [];
  for (let size = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.byteLength;
    if (size > MAX_BODY_BYTES) {
      await reader.cancel();
      throw new Error("the response is too large");
    }
    parts.push(value);
  }
  return new Blob(parts as BlobPart[]).text();
}

function read(response: Response, text: string): Attempt {
  const { status, headers } = response;
  const envelope = parse(text);
  const seconds = headers.get("Retry-After")?.trim();
  const retryAfter = seconds && /^\d+$/.test(seconds) ? Number(seconds) : null;
  const { data, code, error, requestId } = envelope;
  if (status >= 200 && status < 300 && envelope["success"] === true && data !== undefined) {
    return { kind: "data", data };
  }
  const problem = `${status} ${typeof code === "string" ? code : "without an answer of licd"}`;
  if (status >= 500 || status === 408 || status === 429) return { kind: "none", problem, retryAfter };
  if (status < 400 || typeof code !== "string") return { kind: "none", problem };
  const message = typeof error === "string" ? error : "";
  const id = typeof requestId === "string" ? requestId : null;
  return { kind: "rejected", status, code, message, requestId: id };
}

function parse(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return "the request failed";
  const { cause } = error;
  const detail = cause instanceof Error && "code" in cause ? String(cause.code) : error.message;
  return error.name === "TimeoutError" || error.name === "AbortError" ? "no response in time" : detail;
}
