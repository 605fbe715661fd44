/** A store in a folder, for Node, Bun, Deno and Electron's main process. */

import { randomUUID } from "node:crypto";
import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Store } from "./state.js";

/** Keeps each text in a file that only the user of the program can read. Programs may share the folder. */
export class FileStore implements Store {
  constructor(private readonly folder: string) {}

  async get(name: string): Promise<string | null> {
    try {
      return await readFile(this.path(name), "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
      throw error;
    }
  }

  async set(name: string, text: string): Promise<void> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    const draft = `${this.path(name)}.${randomUUID()}`;
    try {
      const file = await open(draft, "wx", 0o600);
      try {
        await file.writeFile(text);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(draft, this.path(name));
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
  }

  private path(name: string): string {
    return join(this.folder, `${name}.json`);
  }
}
