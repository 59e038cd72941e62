// Starts the runner: reads its options and its secret, serves the API, and ends with everything it started.
// `node main.js run CASE` serves nothing, and runs that case once.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { parseArgs } from "node:util";
import { api } from "./api.js";
import { Attempt } from "./attempt.js";
import { Boot } from "./boot.js";
import { identity } from "./identity.js";
import { TimingLock } from "./lock.js";
import { SUITES } from "./suites.js";

const KEEP_ALIVE_MS = 75_000;
const TIMEOUT_S = 900;
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
    return parseArgs({ options: OPTIONS, allowPositionals: true });
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

/** Run one case as a job would run it, and print its outcome; whether it passed is the exit code. */
async function runOnce(id) {
  const suite = [...SUITES.values()].find((suite) => suite.cases.has(id));
  if (!suite) refuse(`there is no case ${JSON.stringify(id)}: GET /v1/catalogue has them all`);
  const lock = lockOf(process.env.PORTOLAN_TIMING_LOCK);
  const attempt = new Attempt({ suite: suite.name, case: id, timing: "steady", timeout_s: TIMEOUT_S }, lock);
  const seen = await new Promise((resolve) => attempt.once("ended", resolve));
  process.stdout.write(JSON.stringify(seen, null, 2) + "\n");
  process.exitCode = seen.verdict === "passed" ? 0 : 1;
}

const {
  values: { host, port: portText, "secret-file": secretFile },
  positionals: [command, ...words],
} = options();
if (command !== undefined) {
  if (command !== "run" || words.length !== 1) refuse("give no words to serve, or: run CASE");
  await runOnce(words[0]);
  process.exit();
}
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
