// The process of one case: primes the device, runs the case stage by stage, reports, and is killed.

import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { Mismatch } from "./checks.js";
import { described } from "./outcome.js";
import { SUITES } from "./suites.js";
import { clock, samples } from "./timing.js";

const [suiteName, caseId, policy] = process.argv.slice(2);
const tell = (message) => new Promise((resolve) => process.send(message, resolve));

// Its parent holds the other end of standard input. When the parent dies, even by kill -9, so must a case that
// never gives its thread back: hence a thread of its own for that.
const guard = new Worker(
  `new (require("node:net").Socket)({ fd: 0 }).on("close", () => process.kill(-process.pid, "SIGKILL")).resume()`,
  { eval: true },
);
await once(guard, "online");
guard.unref();

function prime() {
  const begin = process.hrtime.bigint();
  new Float32Array(4096).fill(1).reduce((sum, each) => sum + each);
  return clock(begin);
}

/** Run something that is timed while nobody else on this host times anything. */
async function alone(timed) {
  const held = once(process, "message");
  await tell({ lock: "take" });
  await held;
  try {
    return timed();
  } finally {
    await tell({ lock: "release" });
  }
}

async function run(case_, timing) {
  const placement = case_.host_only ? "host_only" : "on_device";
  let stage = "inputs";
  const enter = (next) => tell({ stage: (stage = next) });
  try {
    const subject = case_.find();
    if (!subject) {
      const reason = `Node.js ${process.versions.node} has no ${case_.function}`;
      return { ending: "removed", evidence: { stage, reason } };
    }
    const call = (inputs) => case_.call(subject, inputs);
    const timed = policy === "off" ? (work) => work() : alone;

    const inputs = case_.inputs();
    await enter("call");
    const result = await timed(() => {
      const given = case_.fresh(inputs);
      const begin = process.hrtime.bigint();
      const result = call(given);
      if (policy !== "off") timing.cold_ms = clock(begin);
      return result;
    });
    await enter("check");
    case_.check(result, inputs);
    if (policy === "steady" || policy === "quick") {
      await enter("samples");
      Object.assign(timing, await timed(() => samples(call, () => case_.fresh(inputs), policy)));
    }
    return { ending: "returned", evidence: null, placement };
  } catch (error) {
    if (error instanceof Mismatch) {
      const evidence = { mismatch: error.message, right_at: error.rightAt, stage };
      return { ending: "mismatched", evidence, placement };
    }
    const ending = stage === "inputs" || stage === "check" ? "harness_failed" : "raised";
    return { ending, evidence: { ...described(error), stage } };
  }
}

const timing = { init_ms: prime() };
await tell({ begin: true });
const report = await run(SUITES.get(suiteName).cases.get(caseId), timing);
// Whoever hears the report kills this process: what the case printed must be out by then.
for (const stream of [process.stdout, process.stderr]) await new Promise((resolve) => stream.write("", resolve));
await tell({ report: { ...report, timing } });
process.exit(0);
