// The lock that everything timed on one host holds, so that targets do not time each other.

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";

const DEFAULT_PATH = "/tmp/portolan-timing.lock";

export class TimingLock {
  #path;

  constructor(path) {
    this.#path = path || DEFAULT_PATH;
    this.here = !spawnSync("flock", ["--version"]).error;
    if (path && !this.here) {
      throw new Error("PORTOLAN_TIMING_LOCK is set, and there is no command flock: install util-linux, or unset it");
    }
    if (this.here) this.#try();
  }

  /** Whatever is wrong with the file is better said at the start than of every case. */
  #try() {
    try {
      closeSync(this.#open());
    } catch (error) {
      throw new Error(`the timing lock cannot be opened: ${error.message}; name another file in PORTOLAN_TIMING_LOCK`);
    }
  }

  /** Wait for the lock, or until `signal` aborts; returns what gives it back. */
  async take(signal) {
    if (!this.here) return () => {};
    const file = this.#open();
    const release = () => closeSync(file);
    try {
      // Node.js cannot lock a file itself. The command locks what it shares with us, and ends; the lock stays until
      // we close the file, or die.
      const flock = spawn("flock", ["-x", "3"], { stdio: ["ignore", "ignore", "ignore", file], signal });
      const [code] = await once(flock, "close");
      if (code !== 0) throw new Error(`the timing lock ${this.#path} cannot be taken: flock ended with ${code}`);
    } catch (error) {
      release();
      throw error;
    }
    return release;
  }

  #open() {
    try {
      return openSync(this.#path, "r"); // Another user's file can be locked too, and needs no right to write it.
    } catch (error) {
      if (error.code !== "ENOENT") throw error;
      return openSync(this.#path, "a");
    }
  }
}
