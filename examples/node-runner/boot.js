// One life of the runner: the jobs it has taken, which of them runs, and what it has told of them.

import { randomUUID } from "node:crypto";
import { Attempt } from "./attempt.js";
import { EventLog } from "./events.js";
import { outcome } from "./outcome.js";
import { SUITES } from "./suites.js";

export const QUEUE_LIMIT = 1000;

/** A job goes from `queued` to `taken` (it has the slot) to `finished`, and is known until that is acknowledged. */
export class Boot {
  id = randomUUID();
  events = new EventLog();
  #lock;
  #jobs = new Map(); // The newest attempt of every job, by the job's id.
  #finished = []; // Jobs whose end is not acknowledged yet, in the order of their events.
  #queue = [];
  #current = null; // The attempt that has the only slot.
  #closed = false;

  constructor(lock) {
    this.#lock = lock;
  }

  /** The status of each job of a request, in its order. */
  take(suite, jobs) {
    const statuses = jobs.map((job) => this.#takeOne({ ...job, suite, state: "queued" }));
    this.#next();
    return statuses;
  }

  #takeOne(job) {
    if (!SUITES.get(job.suite)?.cases.has(job.case)) return "unknown_case";
    const known = this.#jobs.get(job.id);
    if (known && ["suite", "case", "run"].some((member) => known[member] !== job[member])) return "other_case";
    if (known?.attempt === job.attempt) return "known";
    if (known?.attempt > job.attempt) return "stale_attempt";
    // Jobs that are taken and cancelled without end would fill the memory with events that nobody reads.
    if (this.#queue.length >= QUEUE_LIMIT || this.events.full) return "full";
    this.#jobs.set(job.id, job);
    this.#queue.push(job);
    if (known) this.#stop(known);
    return "queued";
  }

  /** Stop an attempt, if it is here and has not finished. */
  cancel(id, attempt) {
    const job = [this.#jobs.get(id), this.#current?.job].find((job) => job?.id === id && job.attempt === attempt);
    if (job) this.#stop(job);
  }

  #stop(job) {
    if (job.state === "queued") {
      this.#queue.splice(this.#queue.indexOf(job), 1);
      this.#finish(job, outcome("cancelled"));
    } else if (job === this.#current?.job) {
      this.#current.stop("cancelled");
    }
  }

  acknowledge(n) {
    this.events.trim(n);
    const open = this.#finished.findIndex((job) => job.n > n);
    for (const job of this.#finished.splice(0, open < 0 ? this.#finished.length : open)) {
      if (this.#jobs.get(job.id) === job) this.#jobs.delete(job.id);
    }
    this.#next();
  }

  heartbeat() {
    const { job, began, elapsed_s, waited_s } = this.#current ?? {};
    const running = began ? [{ id: job.id, attempt: job.attempt, elapsed_s, waited_s }] : [];
    const starting = this.#current && !began ? 1 : 0;
    return { type: "heartbeat", n: this.events.last, queued: this.#queue.length + starting, running };
  }

  /** Give the slot to the next job, if it is free and there is room for what will be told of it. */
  #next() {
    if (this.#current || this.#closed || this.events.full) return;
    const job = this.#queue.shift();
    if (!job) return;
    job.state = "taken";
    try {
      this.#current = new Attempt(job, this.#lock);
    } catch (error) {
      this.#finish(job, outcome("harness_failed", { evidence: { reason: error.message, stage: "prime" } }));
      return setImmediate(() => this.#next());
    }
    this.#current.once("began", () => this.events.add({ type: "started", id: job.id, attempt: job.attempt }));
    this.#current.once("ended", (seen) => {
      this.#current = null;
      this.#finish(job, seen);
      this.#next();
    });
  }

  #finish(job, seen) {
    job.state = "finished";
    job.n = this.events.add({ type: "finished", id: job.id, attempt: job.attempt, outcome: seen });
    this.#finished.push(job);
  }

  /** The runner ends: nothing that it started may outlive it. */
  close() {
    this.#closed = true;
    this.#current?.stop("cancelled");
  }
}
