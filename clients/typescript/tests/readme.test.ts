/** Runs the programs of the README against a running licd, in a folder where `licd-client` is this package. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { admin, sell, URL } from "./vendor.ts";

const run = promisify(execFile);
const folder = join(import.meta.dirname, "..", "dist", `readme-${process.pid}`);

after(() => rm(folder, { recursive: true, force: true }));

test("the programs of the README print what it says", async () => {
  const { product, license, key } = await sell({ maxSeats: 1, features: ["render"] });
  for (const userId of ["ada", "linus"]) await admin("POST", `/admin/licenses/${license}/assign`, { userId });
  const text = await readFile(join(import.meta.dirname, "..", "README.md"), "utf8");
  await mkdir(folder);
  const files = [...text.matchAll(/^```ts (\S+)\n(.*?)^```/gms)];
  for (const [, name, program] of files) await writeFile(join(folder, name!), program!);
  const node = async (server: string, ...command: string[]) => {
    const env = {
      ...process.env, APP_LICENSE_SERVER: server, APP_LICENSE_KEY: key, APP_LICENSE_PRODUCT: product,
      NODE_TEST_CONTEXT: undefined,
    };
    return (await run(process.execPath, command, { cwd: folder, env })).stdout;
  };
  const printed = [...text.matchAll(/^```console\n(.*?)^```/gms)].map(([, block]) => block!);
  const outputs = printed.join("").split("\n").filter((line) => line !== "" && !line.startsWith("$"));
  assert.equal(
    await node(URL, "guard.mts", "ada", "linus") +
      await node("http://127.0.0.1:9", "guard.mts", "ada") +
      await node(URL, "claim.mts", "mary", "7KQ4M-0A1B1-C2D3E-4F5G6-7J8KX"),
    `${outputs.join("\n")}\n`,
  );
  assert.match(await node(URL, "--test", "try.test.mts"), /pass 1/);
  assert.equal(files.length, 3);
});
