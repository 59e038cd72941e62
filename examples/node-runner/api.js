// The runner API, version 1, over HTTP: who may call what, and what is answered.

import { createHash, timingSafeEqual } from "node:crypto";
import { QUEUE_LIMIT } from "./boot.js";
import { Problem, acknowledgement, batch, body, position } from "./requests.js";
import { SUITES, catalogue } from "./suites.js";

const HEARTBEAT_MS = 5000;

/** What `http.createServer` calls for each request. */
export function api(boot, identity, secret) {
  const info = { boot_id: boot.id, protocol: 1, ...identity, slots: 1, queue_limit: QUEUE_LIMIT };
  const calls = [
    ["GET", /^\/healthz$/, (_, response) => answer(response, 200, { status: "ok" })],
    ["GET", /^\/v1\/runner$/, (_, response) => answer(response, 200, info)],
    ["GET", /^\/v1\/catalogue$/, (_, response) => answer(response, 200, catalogue())],
    ["POST", /^\/v1\/jobs$/, (request, response) => takeJobs(boot, request, response)],
    ["GET", /^\/v1\/events$/, (request, response, { query }) => stream(boot, response, position(query))],
    ["POST", /^\/v1\/events\/ack$/, (request, response) => acknowledge(boot, request, response)],
    ["DELETE", /^\/v1\/jobs\/([^/]+)\/([^/]+)$/, (_, response, { parts }) => cancel(boot, response, parts)],
  ];
  const expected = digest(`Bearer ${secret}`);

  return async (request, response) => {
    try {
      const [path, query] = request.url.split("?", 2);
      if (path !== "/healthz" && !timingSafeEqual(digest(request.headers.authorization ?? ""), expected)) {
        throw new Problem(401, "Not allowed", "send the runner's secret: Authorization: Bearer SECRET");
      }
      const known = calls.filter(([, pattern]) => pattern.test(path));
      const call = known.find(([method]) => method === request.method);
      if (!call) throw known.length ? notAllowed(known) : new Problem(404, "Not found", `there is no ${path} here`);
      const [, pattern, handle] = call;
      await handle(request, response, { query: new URLSearchParams(query), parts: pattern.exec(path).slice(1) });
    } catch (error) {
      refuse(response, error);
    }
  };
}

// Digests have one length, which is what a comparison in constant time needs.
const digest = (text) => createHash("sha256").update(text).digest();

const notAllowed = (known) => new Problem(405, "Method not allowed", `ask with ${known.map(([method]) => method)}`);

function answer(response, status, value, type = "application/json") {
  response.writeHead(status, { "Content-Type": type }).end(JSON.stringify(value));
}

function refuse(response, error) {
  if (response.headersSent || response.destroyed) return response.destroy();
  const { status, title, message, more } =
    error instanceof Problem ? error : new Problem(500, "The runner failed", String(error));
  if (status === 401) response.setHeader("WWW-Authenticate", "Bearer");
  if (status === 413) response.setHeader("Connection", "close"); // Nobody reads the rest.
  const problem = { type: "about:blank", title, status, detail: message, ...more };
  answer(response, status, problem, "application/problem+json");
}

function sameBoot(boot, boot_id) {
  if (boot_id === boot.id) return;
  throw new Problem(409, "Another boot", `this runner has restarted: its boot is ${boot.id}`, { boot_id: boot.id });
}

async function takeJobs(boot, request, response) {
  const { boot_id, suite, revision, jobs } = batch(await body(request));
  sameBoot(boot, boot_id);
  const present = SUITES.get(suite)?.revision;
  if (present && revision !== present) {
    const detail = `the revision of ${suite} is ${present} here: read the catalogue again`;
    throw new Problem(409, "Another revision", detail, { boot_id: boot.id });
  }
  const statuses = boot.take(suite, jobs);
  answer(response, 200, { jobs: jobs.map(({ id, attempt }, index) => ({ id, attempt, status: statuses[index] })) });
}

async function acknowledge(boot, request, response) {
  const { boot_id, n } = acknowledgement(await body(request));
  sameBoot(boot, boot_id);
  notIssued(boot, n);
  boot.acknowledge(n);
  response.writeHead(204).end();
}

function notIssued(boot, n) {
  if (n <= boot.events.last) return;
  throw new Problem(422, "Not issued yet", `the last event is ${boot.events.last}, ${n} is yet to come`);
}

function cancel(boot, response, [id, attempt]) {
  boot.cancel(id.replaceAll("%3A", ":"), Number(attempt)); // The only sign of an id that a client may escape.
  response.writeHead(204).end();
}

/** Write what happened after `after`, and go on until the reader is gone. */
function stream(boot, response, { boot_id, after }) {
  sameBoot(boot, boot_id);
  notIssued(boot, after);
  const { events } = boot;
  if (after < events.forgotten) {
    throw new Problem(410, "Forgotten", `events up to ${events.forgotten} were acknowledged: begin there`);
  }
  let sent = after;
  const write = () => {
    if (sent < events.forgotten) return response.destroy(); // Another reader acknowledged what this one has not read.
    // A slow reader costs no memory: the rest waits in the log, and `drain` goes on.
    while (sent < events.last && !response.writableNeedDrain) response.write(events.line(++sent));
  };
  const beat = () => {
    write();
    // The number in a heartbeat says that all up to it has been sent.
    if (sent === events.last && !response.writableNeedDrain) response.write(JSON.stringify(boot.heartbeat()) + "\n");
  };
  const timer = setInterval(beat, HEARTBEAT_MS);
  events.on("grown", write).on("trimmed", write);
  response.on("drain", write).on("close", () => {
    clearInterval(timer);
    events.off("grown", write).off("trimmed", write);
  });
  response.writeHead(200, { "Content-Type": "application/x-ndjson" });
  beat();
}
