/** The time, which tests replace with `FakeClock`. */

export interface Clock {
  /** Milliseconds since 1970, by a clock that the user can set. */
  now(): number;
  /** Milliseconds since any moment, by a clock that nobody can set. It may stop while the machine sleeps. */
  monotonic(): number;
  sleep(milliseconds: number): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (milliseconds) => new Promise((resume) => setTimeout(resume, milliseconds)),
};
