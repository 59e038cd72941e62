// What is told of an attempt: an observation in the words of the contract, never a cause.

import { basename } from "node:path";

const VERDICTS = {
  returned: "passed",
  raised: "failed",
  mismatched: "failed",
  timed_out: "failed",
  exited: "failed",
  signalled: "failed",
  removed: "skipped",
  harness_failed: "incomplete",
  cancelled: "incomplete",
};
const MOST_TEXT = 8192;
const MOST_LINE = 1000;
const MOST_FRAMES = 50;
const LONG = new Set(["message", "mismatch", "reason"]); // The rest of the evidence are lines.
const NO_TIMING = {
  init_ms: null,
  cold_ms: null,
  samples_ms: [],
  calls_per_sample: 1,
  lock_wait_ms: 0,
  position: 0, // No case ran in its process before it.
};

const NO_LOG = { tail: "", bytes: 0 };

/** Text that can be stored anywhere: valid Unicode without NUL, and of a bounded length. */
function clean(text, most = MOST_TEXT) {
  return String(text).replaceAll("\0", "").slice(0, most).toWellFormed();
}

/** The outcome of an attempt from what its process reported, and what was seen of it from outside. */
export function outcome(ending, seen = {}) {
  const { placement = "unknown", timing = {}, evidence = null, duration_s = 0, log = NO_LOG } = seen;
  return {
    verdict: VERDICTS[ending],
    ending,
    placement,
    // An array of JavaScript is in the memory of its process and nowhere else.
    proof: { devices: placement === "on_device" ? ["cpu"] : [], fallbacks: {} },
    timing: { ...NO_TIMING, ...timing },
    evidence: evidence && cleaned(evidence),
    duration_s,
    log_tail: log.tail.replaceAll("\0", ""),
    log_bytes: log.bytes,
  };
}

/** What an exception says of itself; its frames with the innermost last, unlike V8's. */
export function described(error) {
  if (!(error instanceof Error)) return { exception: typeof error, message: String(error) };
  const calls = [...(error.stack ?? "").matchAll(/^ +at (?:(.*) \()?(?:file:\/\/)?(.*?):(\d+):\d+\)?$/gm)];
  return {
    exception: error.constructor.name,
    message: error.message,
    frames: calls.reverse().map(([, name, file, line]) => `${basename(file)}:${line} ${name ?? "<anonymous>"}`),
  };
}

function cleaned({ frames, ...evidence }) {
  const most = (key) => (LONG.has(key) ? MOST_TEXT : MOST_LINE);
  const texts = Object.entries(evidence).map(([key, value]) => {
    return [key, typeof value === "string" ? clean(value, most(key)) : value];
  });
  return { ...Object.fromEntries(texts), ...(frames && { frames: frames.slice(-MOST_FRAMES).map((frame) => clean(frame, MOST_LINE)) }) };
}
