// One attempt: a case in a process of its own, its clock, its output, and its death at the deadline.

import { fork } from "node:child_process";
import { EventEmitter } from "node:events";
import { fileURLToPath } from "node:url";
import { outcome } from "./outcome.js";

const WORKER = fileURLToPath(new URL("worker.js", import.meta.url));
const STARTS_WITHIN_MS = 120_000;
const DRAINS_WITHIN_MS = 1000;
const LOG_TAIL_BYTES = 16_384;

/** Emits `began` when the case begins, and `ended` with the outcome when no process of it is left. */
export class Attempt extends EventEmitter {
  began = false;
  job;
  #lock;
  #child;
  #clock = new Stopwatch();
  #log = new Log();
  #timer;
  #waits = new AbortController();
  #release = () => {};
  #waiting = new Stopwatch();
  #stage = "prime";
  #report = null;
  #stopped = null;

  constructor(job, lock) {
    super();
    this.job = job;
    this.#lock = lock;
    this.#child = fork(WORKER, [job.suite, job.case, job.timing], {
      detached: true, // A process group of its own, so that a kill takes what the case started too.
      stdio: ["pipe", "pipe", "pipe", "ipc"],
    });
    this.#timer = setTimeout(() => this.#fail("its process did not start in time"), STARTS_WITHIN_MS);
    this.#child.on("message", (message) => this.#hear(message));
    for (const stream of [this.#child.stdout, this.#child.stderr]) stream?.on("data", (chunk) => this.#log.add(chunk));
    const closed = new Promise((resolve) => this.#child.once("close", resolve));
    this.#child.once("exit", (code, signal) => this.#end(closed, code, signal));
    this.#child.on("error", (error) => {
      // Of all errors only that of a process that never was is not followed by `exit`.
      if (this.#child.pid === undefined) this.#fail(`its process cannot be started: ${error.message}`).#end(null);
    });
  }

  get elapsed_s() {
    return this.#clock.s;
  }

  /** The seconds of the wait for the timing lock since the case began: what `elapsed_s` leaves out. */
  get waited_s() {
    return this.#waiting.s;
  }

  /** Kill it; the first reason is the one that counts, and a report that is already here counts more. */
  stop(ending, evidence = {}) {
    if (this.#report || this.#stopped) return;
    this.#stopped = { ending, evidence };
    this.#kill();
  }

  #fail(reason) {
    this.stop("harness_failed", { reason, stage: this.#stage });
    return this;
  }

  #hear(message) {
    if (this.#stopped || this.#report) return;
    if (message.begin) this.#begin();
    else if (message.stage) this.#stage = message.stage;
    else if (message.lock === "take") this.#takeLock();
    else if (message.lock === "release") this.#giveBack();
    else {
      this.#report = message.report;
      this.#clock.pause();
      this.#kill(); // What it printed is in the pipes already.
    }
  }

  #begin() {
    this.began = true;
    this.#resume();
    this.emit("began");
  }

  #resume() {
    clearTimeout(this.#timer);
    this.#clock.start();
    const left_ms = (this.job.timeout_s - this.#clock.s) * 1000;
    this.#timer = setTimeout(() => this.stop("timed_out"), Math.ceil(left_ms) + 1);
  }

  /** The wait for the lock is on no clock, and on nobody's deadline. */
  async #takeLock() {
    clearTimeout(this.#timer);
    this.#clock.pause();
    this.#waiting.start();
    let release;
    try {
      release = await this.#lock.take(this.#waits.signal);
    } catch (error) {
      if (!this.#waits.signal.aborted) this.#fail(error.message);
      return;
    } finally {
      this.#waiting.pause();
    }
    if (this.#waits.signal.aborted) return release();
    this.#release = release;
    if (this.#stopped) return;
    this.#resume();
    this.#child.send("held", () => {}); // A child that is gone by now is told of by its exit.
  }

  #giveBack() {
    this.#release();
    this.#release = () => {};
  }

  #kill() {
    clearTimeout(this.#timer);
    if (this.#child.pid === undefined) return;
    try {
      process.kill(-this.#child.pid, "SIGKILL");
    } catch (error) {
      if (error.code !== "ESRCH" && error.code !== "EPERM") throw error; // Both mean: nothing of ours is left.
    }
  }

  async #end(closed, code, signal) {
    this.#clock.pause();
    this.#kill(); // Whatever it left behind in its group.
    this.#waits.abort();
    this.#giveBack();
    // A process that left the group may hold the pipes open for ever.
    await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, DRAINS_WITHIN_MS).unref())]);
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) stream?.destroy();
    this.emit("ended", this.#outcome(code, signal));
  }

  #outcome(code, signal) {
    const seen = { duration_s: this.#clock.s, log: this.#log };
    if (this.#report) {
      const { ending, placement, timing, evidence } = this.#report;
      return outcome(ending, { ...seen, placement, evidence, timing: { ...timing, lock_wait_ms: this.#waiting.s * 1000 } });
    }
    const stage = this.#stage;
    if (this.#stopped) {
      const { ending, evidence } = this.#stopped;
      return outcome(ending, { ...seen, evidence: { stage, ...evidence } });
    }
    const evidence = signal ? { signal, stage } : { exit_code: code, stage };
    if (!this.began) return outcome("harness_failed", { ...seen, evidence });
    return outcome(signal ? "signalled" : "exited", { ...seen, evidence });
  }
}

/** Monotonic seconds, without those between `pause` and `start`. */
class Stopwatch {
  #before = 0n;
  #since = null;

  start() {
    this.#since ??= process.hrtime.bigint();
    return this;
  }

  pause() {
    if (this.#since !== null) this.#before += process.hrtime.bigint() - this.#since;
    this.#since = null;
  }

  get s() {
    const running = this.#since === null ? 0n : process.hrtime.bigint() - this.#since;
    return Number(this.#before + running) / 1e9;
  }
}

/** Counts all that is printed, and keeps the end of it. */
class Log {
  bytes = 0;
  #tail = Buffer.alloc(0);

  add(chunk) {
    this.bytes += chunk.length;
    this.#tail = Buffer.concat([this.#tail, chunk]).subarray(-LOG_TAIL_BYTES);
  }

  get tail() {
    return this.#tail.toString("utf8");
  }
}
