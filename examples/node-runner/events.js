// The numbered events of one boot, kept until somebody acknowledges them.

import { EventEmitter } from "node:events";

const MOST_EVENTS = 20_000;
const MOST_BYTES = 16 * 1024 * 1024;

/** Emits `grown` when there is a new event, `trimmed` when some were forgotten. */
export class EventLog extends EventEmitter {
  #lines = []; // The event numbered `forgotten + 1`, and those after it.
  #bytes = 0;
  forgotten = 0;

  constructor() {
    super();
    this.setMaxListeners(0);
  }

  get last() {
    return this.forgotten + this.#lines.length;
  }

  /** Whether nothing more may be executed before somebody acknowledges: nothing may be dropped instead. */
  get full() {
    return this.#lines.length >= MOST_EVENTS || this.#bytes >= MOST_BYTES;
  }

  /** Number an event and keep it; returns its number. */
  add(event) {
    const n = this.last + 1;
    const line = JSON.stringify({ ...event, n }) + "\n";
    this.#lines.push(line);
    this.#bytes += Buffer.byteLength(line);
    this.emit("grown");
    return n;
  }

  line(n) {
    return this.#lines[n - this.forgotten - 1];
  }

  /** Forget the events up to `n`. */
  trim(n) {
    const gone = this.#lines.splice(0, Math.max(0, n - this.forgotten));
    for (const line of gone) this.#bytes -= Buffer.byteLength(line);
    this.forgotten += gone.length;
    this.emit("trimmed");
  }
}
