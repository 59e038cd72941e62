// Who this runner is: its framework, its device, and everything that its numbers depend on.

import { createHash } from "node:crypto";
import os from "node:os";
import { fileURLToPath } from "node:url";

/** What `GET /v1/runner` says, but for the boot. */
export function identity(lock) {
  const { node, v8, openssl, zlib } = process.versions;
  const notes = ["V8 may collect garbage while samples are taken"];
  if (!lock.here) notes.push("timed without this host's timing lock: other targets may have run beside it");
  return {
    framework: "node",
    version: process.versions.node,
    device: "cpu",
    device_class: "cpu",
    device_count: 1,
    simulated: false,
    fingerprint: {
      hardware: os.cpus()[0]?.model.trim() || `unknown ${os.arch()} processor`,
      environment: environment(),
      image: process.env.PORTOLAN_IMAGE || null,
      host: os.hostname(),
      system: `${os.type()} ${os.release()} ${os.arch()}`,
      threads: 1,
      repeat: `node ${quoted(fileURLToPath(new URL("main.js", import.meta.url)))} run {case}`,
      libraries: { node, v8, openssl, zlib },
      notes,
    },
  };
}

/** A path as one word of the shell. */
const quoted = (path) => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`);

/** Node.js has its libraries built in, so their versions are the whole environment. */
function environment() {
  const parts = [process.platform, process.arch, ...Object.entries(process.versions).flat()];
  return createHash("sha256").update(parts.join("\n")).digest("hex").slice(0, 12);
}
