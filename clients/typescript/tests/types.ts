/** What the types forbid: `tsc` fails if one of these lines is no error any more. */

import type { Licd } from "../dist/index.js";

export async function misuse(licd: Licd): Promise<void> {
  // @ts-expect-error: the outage is not decided.
  await licd.check("ada", {});
  // @ts-expect-error: the same without options.
  await licd.check("ada");
  // @ts-expect-error: a policy that does not exist.
  await licd.check("ada", { whenUnknown: "maybe" });
  // @ts-expect-error: a claim may be unanswered too.
  await licd.claim("ada", "AAAA-BBBB");
  const result = await licd.check("ada", { whenUnknown: "deny" });
  // @ts-expect-error: only a refusal has a reason.
  result.reason;
  // @ts-expect-error: a promise is always true, and has no `allowed`.
  licd.check("ada", { whenUnknown: "deny" }).allowed;
  if (result.kind === "refused") result.reason satisfies string;
  if (result.kind === "unknown") result.until satisfies Date | null;
}
