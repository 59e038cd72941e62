// Starts the runner: reads its options and its secret, serves the API, and ends with everything it started.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { parseArgs } from "node:util";
import { api } from "./api.js";
import { Boot } from "./boot.js";
import { identity } from "./identity.js";
import { TimingLock } from "./lock.js";

const KEEP_ALIVE_MS = 75_000;
const OPTIONS = {
  host: { type: "string", default: "127.0.0.1" },
  port: { type: "string", default: "8790" },
  "secret-file": { type: "string" },
};

function refuse(message) {
  process.stderr.write(`node-runner: ${message}\n`);
  process.exit(2);
}

function options() {
  try {
    return parseArgs({ options: OPTIONS }).values;
  } catch (error) {
    return refuse(`${error.message.split("\n")[0]} (options: --host, --port, --secret-file)`);
  }
}

function portOf(text) {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65535) refuse(`--port ${text}: give a number from 0 (any free one) to 65535`);
  return port;
}

function secretOf(file) {
  if (file === undefined) {
    const secret = (process.env.PORTOLAN_RUNNER_SECRET ?? "").trim();
    return secret || refuse("no secret: set PORTOLAN_RUNNER_SECRET, or name a file with --secret-file");
  }
  try {
    return readFileSync(file, "utf8").trim() || refuse(`the secret file ${file} is empty: write a secret into it`);
  } catch (error) {
    return refuse(`cannot read the secret file: ${error.message}`);
  }
}

function lockOf(path) {
  try {
    return new TimingLock(path);
  } catch (error) {
    return refuse(error.message);
  }
}

const { host, port: portText, "secret-file": secretFile } = options();
const port = portOf(portText);
const secret = secretOf(secretFile);
delete process.env.PORTOLAN_RUNNER_SECRET; // It is no business of the cases', which inherit the environment.
const lock = lockOf(process.env.PORTOLAN_TIMING_LOCK);
const boot = new Boot(lock);
const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, api(boot, identity(lock), secret));

server.on("error", (error) => refuse(`cannot listen on ${host} port ${port}: ${error.message}`));
server.listen(port, host, () => {
  const address = host.includes(":") ? `[${host}]` : host;
  process.stdout.write(JSON.stringify({ url: `http://${address}:${server.address().port}` }) + "\n");
});

for (const signal of ["SIGTERM", "SIGINT"]) {
  process.on(signal, () => {
    boot.close();
    process.exit(0);
  });
}
