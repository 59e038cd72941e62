// The lock that everything timed on one host holds, so that targets do not time each other.

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, lstatSync, mkdirSync, openSync } from "node:fs";

// In a folder of one's own, where nobody else can put a link.
function defaultPath() {
  const folder = `/tmp/portolan-${process.geteuid()}`;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const found = lstatSync(folder);
  if (!found.isDirectory() || found.uid !== process.geteuid() || found.mode & 0o022) {
    throw new Error(`${folder} is another user's, or others can write to it: name a file in PORTOLAN_TIMING_LOCK`);
  }
  return `${folder}/timing.lock`;
}

export class TimingLock {
  #path;

  constructor(path) {
    this.#path = path || defaultPath();
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
