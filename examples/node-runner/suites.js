// What this runner can run: its suites, the revision of each, and their cases.

import * as crypto from "node:crypto";
import { readFileSync } from "node:fs";
import * as zlib from "node:zlib";
import { CONFORMANCE } from "./conformance.js";
import { FUNCTIONS } from "./functions.js";

const MODULES = { crypto, zlib };
// A change of any of these may change what a case does, or what it is judged by.
const SHARED = ["checks.js", "suites.js", "timing.js", "worker.js"];

/** A function by its public name; null where this version of Node.js has none of that name. */
export function lookup(name) {
  const [head, ...path] = name.split(".");
  const found = path.reduce((value, part) => value?.[part], MODULES[head] ?? globalThis[head]);
  return typeof found === "function" ? found : null;
}

function revision(file) {
  const hash = crypto.createHash("sha256");
  for (const each of [file, ...SHARED]) hash.update(readFileSync(new URL(each, import.meta.url)));
  return hash.digest("hex").slice(0, 12);
}

/** A suite from its functions: `{name: {call, check, cases: {name: inputs}}}`, and what may be said of one beside. */
function suite(name, functions, file) {
  const cases = new Map();
  for (const [subject, each] of Object.entries(functions)) {
    for (const [label, inputs] of Object.entries(each.cases)) {
      const id = `${subject}/${label}`;
      cases.set(id, {
        id,
        function: subject,
        host_only: each.host_only ?? null,
        tags: each.tags ?? [],
        find: each.find ?? (() => lookup(subject)),
        inputs: () => inputs(id),
        fresh: each.fresh ?? ((inputs) => inputs),
        call: each.call,
        check: each.check,
      });
    }
  }
  return { name, revision: revision(file), cases };
}

const ALL = [suite("node", FUNCTIONS, "functions.js"), suite("conformance", CONFORMANCE, "conformance.js")];

export const SUITES = new Map(ALL.map((each) => [each.name, each]));

/** What `GET /v1/catalogue` says. */
export function catalogue() {
  const entry = ({ id, function: subject, host_only, tags }) => ({ id, function: subject, host_only, tags });
  const suites = ALL.map(({ name, revision, cases }) => ({ name, revision, cases: [...cases.values()].map(entry) }));
  return { suites };
}
