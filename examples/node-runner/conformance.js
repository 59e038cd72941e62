// The suite `conformance`: cases of which it is known beforehand what they do, for `portolan runner check`.

import { same } from "./checks.js";

const SLOW_MS = 3000;
const LINES = 1280;

const BEHAVIOURS = {
  passes: () => {},
  slow: () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, SLOW_MS),
  // Gives its thread never back: only a kill from outside ends it. It sleeps meanwhile, and takes no core from others.
  hangs: () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0),
  prints: () => {
    for (let line = 0; line < LINES; line++) process.stdout.write(".".repeat(1023) + "\n");
    process.stdout.write("conformance: the end\n");
  },
};

export const CONFORMANCE = Object.fromEntries(
  Object.entries(BEHAVIOURS).map(([name, behaviour]) => [
    `conformance.${name}`,
    {
      find: () => behaviour,
      call: (subject) => subject(),
      check: (result) => same(result, undefined),
      host_only: "it is the runner's own and touches no device",
      tags: [`conformance:${name}`],
      cases: { 0: () => null },
    },
  ]),
);
