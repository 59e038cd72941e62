"""Mutants: copies of ``examples/node-runner`` in which one passage is replaced, so that one behavior is wrong.

The example itself has no switches. ``make_copy`` writes the copy with the replaced passage.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from coordinator.conformance import Level
from tests.runner_process import ROOT

EXAMPLE = ROOT / "examples" / "node-runner"


@dataclass(frozen=True)
class Mutant:
    """One wrong runner. ``passage`` of ``file`` is replaced by ``instead``, and every clause in ``found_by`` must then
    fail. ``beside`` names other clauses that must run, because they cause the events that these clauses check."""

    name: str
    found_by: frozenset[str]
    file: str
    passage: str
    instead: str
    level: Level = Level.probe
    beside: frozenset[str] = frozenset()


def make_copy(mutant: Mutant | None, folder: Path) -> Path:
    """Copy the example into a folder with the mutant's passage. Returns the path of ``main.js``."""
    shutil.copytree(EXAMPLE, folder)
    if mutant is not None:
        source = (folder / mutant.file).read_text()
        count = source.count(mutant.passage)
        assert count == 1, f"{mutant.name}: its passage is {count} times in {mutant.file}, not once"
        (folder / mutant.file).write_text(source.replace(mutant.passage, mutant.instead))
    return folder / "main.js"


def _of(found_by: str, name: str, file: str, passage: str, instead: str, beside: str = "") -> Mutant:
    """The clauses in a text, separated by spaces. A prefix ``full:`` means that they need this level."""
    level, _, clauses = found_by.rpartition(":")
    return Mutant(
        name=name,
        found_by=frozenset(clauses.split()),
        file=f"{file}.js",
        passage=passage,
        instead=instead,
        level=Level(level or "probe"),
        beside=frozenset(beside.split()),
    )


_SEEN = "const seen = { duration_s: this.#clock.s, log: this.#log };"
_DEADLINE = 'setTimeout(() => this.stop("timed_out"), Math.ceil(left_ms) + 1)'
_ENDED = "      this.#finish(job, seen);\n      this.#next();"
_RECEIPTS = "status: statuses[index] })) });"
_WRITE = "response.write(events.line(++sent));"
_SAMPLES = 'if (policy === "steady" || policy === "quick") {'
_CASES = "cases: [...cases.values()].map(entry)"
_NUMBERED = "JSON.stringify({ ...event, n })"
_OPENED = 'if (path !== "/healthz" && '

MUTANTS = (
    # These take longest, so they begin.
    _of(
        "full:events.lasting",
        "sends no heartbeat after 40 s",
        "api",
        "const timer = setInterval(beat, HEARTBEAT_MS);",
        "const timer = setInterval(beat, HEARTBEAT_MS);\n  setTimeout(() => clearInterval(timer), 41_000).unref();",
    ),
    _of(
        "full:restart.boot",
        "keeps its boot_id over a restart",
        "boot",
        "id = randomUUID();",
        'id = "the-only-boot";',
    ),
    _of(
        "full:events.running",
        "has a constant elapsed time",
        "attempt",
        "get elapsed_s() {\n    return this.#clock.s;",
        "get elapsed_s() {\n    return 1;",
    ),
    _of(
        "full:events.running",
        "has no elapsed time",
        "attempt",
        "get elapsed_s() {\n    return this.#clock.s;",
        "get elapsed_s() {\n    return 0;",
    ),
    _of(
        "full:events.running",
        "counts the wait in its queue as elapsed time",
        "attempt",
        "get elapsed_s() {\n    return this.#clock.s;",
        "get elapsed_s() {\n    return this.#clock.s + 5;",
    ),
    _of(
        "events.kept",
        "drops what nobody acknowledges past 400 events",
        "events",
        '    this.emit("grown");\n    return n;',
        '    this.emit("grown");\n    if (this.#lines.length > 400) this.trim(n - 400);\n    return n;',
    ),
    _of("full:events.running", "names nothing that runs", "boot", "began ? [{", "false ? [{"),
    _of("full:events.running", "says that nothing waits", "boot", "queued: this.#queue.length + starting", "queued: 0"),
    _of("full:jobs.full", "takes twice its queue_limit", "boot", ">= QUEUE_LIMIT ||", ">= 2 * QUEUE_LIMIT ||"),
    _of(
        "full:deadline.waiting",
        "charges the wait in its queue",
        "boot",
        "this.#queue.push(job);",
        """this.#queue.push(job);
    setTimeout(() => {
      if (job === this.#current?.job) return this.#current.stop("timed_out");
      if (job.state !== "queued") return;
      this.#queue.splice(this.#queue.indexOf(job), 1);
      this.#finish(job, outcome("timed_out"));
    }, job.timeout_s * 1000).unref();""",
    ),
    _of(
        "full:outcomes.own",
        "has an invalid outcome of one case in 46",
        "attempt",
        _SEEN,
        'const seen = { duration_s: this.job.case === "Math.imul/edges" ? -1 : this.#clock.s, log: this.#log };',
    ),
    _of("deadline.kills", "does not kill at the deadline", "attempt", _DEADLINE, "setTimeout(() => {}, 1)"),
    _of("deadline.kills", "kills 8 s late", "attempt", _DEADLINE, _DEADLINE.replace("+ 1)", "+ 8001)")),
    _of(
        "stopping.queued",
        "does not report what it takes off the queue",
        "boot",
        'this.#finish(job, outcome("cancelled"));',
        'job.state = "finished";',
    ),
    _of(
        "stopping.running",
        "kills without a report",
        "boot",
        _ENDED,
        _ENDED.replace("this.#finish", 'if (seen.ending !== "cancelled") this.#finish', 1),
    ),
    _of(
        "stopping.running jobs.newer",
        "goes on with what is to stop",
        "boot",
        "} else if (job === this.#current?.job) {",
        "} else if (false) {",
    ),
    # Who may call, and what it says of itself.
    _of(
        "access.secret",
        "accepts a prefix of the secret",
        "api",
        '!timingSafeEqual(digest(request.headers.authorization ?? ""), expected)',
        '!`Bearer ${secret}`.startsWith(request.headers.authorization ?? "?")',
    ),
    _of(
        "access.secret",
        "accepts the secret in capitals",
        "api",
        'const digest = (text) => createHash("sha256").update(text)',
        'const digest = (text) => createHash("sha256").update(text.toLowerCase())',
    ),
    _of("access.secret", "deletes for anybody", "api", _OPENED, f'{_OPENED}request.method !== "DELETE" && '),
    _of("access.secret", "streams for anybody", "api", _OPENED, f'{_OPENED}path !== "/v1/events" && '),
    _of("access.secret", "lets anybody acknowledge", "api", _OPENED, f'{_OPENED}path !== "/v1/events/ack" && '),
    _of(
        "identity.runner",
        "has another boot_id in each answer",
        "api",
        "answer(response, 200, info)",
        "answer(response, 200, { ...info, boot_id: `${boot.id}-${process.uptime()}` })",
    ),
    _of(
        "identity.constant",
        "changes its catalogue",
        "suites",
        _CASES,
        f"{_CASES}.sort(() => Math.random() - 0.5)",
    ),
    _of(
        "identity.constant",
        "changes its fingerprint",
        "api",
        "answer(response, 200, info)",
        "answer(response, 200, { ...info, fingerprint: { ...info.fingerprint, host: String(process.uptime()) } })",
    ),
    _of(
        "identity.catalogue",
        "offers a case twice",
        "suites",
        _CASES,
        "cases: [...cases.values(), ...[...cases.values()].slice(0, 1)].map(entry)",
    ),
    _of("identity.catalogue", "has an empty revision", "suites", f"revision, {_CASES}", f'revision: "", {_CASES}'),
    # What it refuses.
    _of(
        "requests.strict",
        "overlooks unknown fields",
        "requests",
        "if (!Object.hasOwn(shape, name)) throw",
        "if (false) throw",
    ),
    _of("requests.strict", "takes names of any length", "requests", "const MOST_NAME = 128;", "const MOST_NAME = 500;"),
    _of(
        "requests.strict",
        "takes case names of any length",
        "requests",
        "MOST_CASE_NAME = 500;",
        "MOST_CASE_NAME = 5000;",
    ),
    _of("requests.strict", "has no end of timeout_s", "requests", " && value <= MOST_TIMEOUT_S", ""),
    _of("requests.large", "reads a body of any size", "requests", "4 * 1024 * 1024", "64 * 1024 * 1024"),
    _of(
        "requests.problem",
        "answers errors as plain JSON",
        "api",
        'answer(response, status, problem, "application/problem+json")',
        "answer(response, status, problem)",
    ),
    _of(
        "requests.boot",
        "takes jobs of another boot",
        "api",
        "  sameBoot(boot, boot_id);\n  const present",
        "  const present",
    ),
    _of(
        "requests.boot",
        "takes acknowledgements of another boot",
        "api",
        "  sameBoot(boot, boot_id);\n  notIssued(boot, n);",
        "  notIssued(boot, n);",
    ),
    _of("requests.revision", "takes jobs of another revision", "api", "revision !== present) {", "false) {"),
    # Jobs.
    _of("jobs.runs", "is full for ever", "boot", "this.#queue.length >= QUEUE_LIMIT", "this.#queue.length >= 0"),
    _of(
        "jobs.runs events.numbered",
        "never says that a case began",
        "boot",
        'once("began", () => this.events.add(',
        'once("began", () => JSON.stringify(',
    ),
    _of("jobs.receipts", "answers in the other order", "api", _RECEIPTS, _RECEIPTS.replace(")) }", ")).reverse() }")),
    _of(
        "jobs.receipts",
        "answers only of what it took",
        "api",
        _RECEIPTS,
        _RECEIPTS.replace(")) }", ')).filter(({ status }) => status === "queued") }'),
    ),
    _of(
        "jobs.receipts",
        "answers everything twice",
        "api",
        _RECEIPTS,
        _RECEIPTS.replace(")) }", ")).flatMap((receipt) => [receipt, receipt]) }"),
    ),
    _of(
        "jobs.known",
        "runs an id twice that is twice in a post",
        "boot",
        "if (known?.attempt === job.attempt) return",
        'if (known?.attempt === job.attempt && known.state !== "queued") return',
    ),
    _of(
        "jobs.other_case",
        "knows an id with any case",
        "boot",
        "if (known && [",
        "if (false && [",
    ),
    _of(
        "jobs.other_case",
        "compares the case and not the run",
        "boot",
        '["suite", "case", "run"]',
        '["suite", "case"]',
    ),
    _of("jobs.stale", "calls an older attempt known", "boot", 'return "stale_attempt"', 'return "known"'),
    _of("jobs.stale", "runs an older attempt", "boot", 'job.attempt) return "stale_attempt"', "job.attempt) void 0"),
    _of("jobs.newer", "lets the older attempt go on", "boot", "if (known) this.#stop(known);", ""),
    _of("jobs.order", "begins with the last", "boot", "this.#queue.shift()", "this.#queue.pop()"),
    _of(
        "jobs.slots",
        "runs all jobs at once",
        "boot",
        "if (this.#current || this.#closed || this.events.full) return;",
        "if (this.#closed || !this.#queue.length) return; setImmediate(() => this.#next());",
    ),
    # Events.
    _of("events.numbered", "skips a number", "events", _NUMBERED, "JSON.stringify({ ...event, n: n > 2 ? n + 1 : n })"),
    _of(
        "events.history",
        "skips a number when nobody looks",
        "events",
        _NUMBERED,
        "JSON.stringify({ ...event, n: n > 12 ? n + 1 : n })",
        beside="jobs.order jobs.known",
    ),
    _of(
        "events.numbered",
        "repeats a number",
        "events",
        _NUMBERED,
        "JSON.stringify({ ...event, n: n === 2 ? 1 : n })",
    ),
    _of(
        "events.numbered",
        "says that a case began when it has ended",
        "boot",
        'once("began", () => this.events.add({ type: "started", id: job.id, attempt: job.attempt }))',
        """once("ended", () => setImmediate(() =>
      this.events.add({ type: "started", id: job.id, attempt: job.attempt })))""",
    ),
    _of(
        "events.history",
        "finishes an attempt twice",
        "boot",
        _ENDED,
        _ENDED.replace("seen);", "seen);\n      setTimeout(() => this.#finish(job, seen), 1000);", 1),
        beside="jobs.slots stopping.alone deadline.kills",
    ),
    _of("jobs.runs", "finishes an attempt twice at once", "boot", _ENDED, f"      this.#finish(job, seen);\n{_ENDED}"),
    _of("events.resume", "begins each stream anew", "api", "let sent = after;", "let sent = events.forgotten;"),
    _of(
        "events.resume acknowledging.keeps",
        "forgets what it has sent",
        "api",
        _WRITE,
        f"{{ {_WRITE} setImmediate(() => events.trim(sent)); }}",
    ),
    _of(
        "events.streams",
        "has one stream at a time",
        "api",
        '  response.writeHead(200, { "Content-Type": "application/x-ndjson" });',
        """  boot.stream?.destroy();
  boot.stream = response;
  response.writeHead(200, { "Content-Type": "application/x-ndjson" });""",
    ),
    _of(
        "jobs.runs events.numbered",
        "closes the stream after each event",
        "api",
        _WRITE,
        f"{{ {_WRITE} setTimeout(() => response.destroy(), 5); }}",
    ),
    _of(
        "events.open",
        "closes a stream on which nothing has happened for half a second",
        "api",
        _WRITE,
        f"{{ {_WRITE} clearTimeout(boot.idle); boot.idle = setTimeout(() => response.destroy(), 500); }}",
    ),
    _of(
        "events.bounds",
        "streams from what is yet to come",
        "api",
        "  notIssued(boot, after);\n",
        "  after = Math.min(after, boot.events.last);\n",
    ),
    _of(
        "events.history",
        "says a number ahead of its stream",
        "boot",
        'type: "heartbeat", n: this.events.last,',
        'type: "heartbeat", n: this.events.last + 1,',
    ),
    # Acknowledgements.
    _of("acknowledging.trims", "streams what is gone", "api", "if (after < events.forgotten) {", "if (false) {"),
    _of(
        "acknowledging.keeps",
        "forgets all with any acknowledgement",
        "boot",
        "this.events.trim(n);",
        "this.events.trim(this.events.last);",
    ),
    _of(
        "acknowledging.forgets",
        "never forgets an id",
        "boot",
        "if (this.#jobs.get(job.id) === job) this.#jobs.delete(job.id);",
        "void job;",
    ),
    _of(
        "acknowledging.newer",
        "forgets a newer attempt with the older",
        "boot",
        "if (this.#jobs.get(job.id) === job) this.#jobs.delete(job.id);",
        "this.#jobs.delete(job.id);",
    ),
    _of(
        "acknowledging.again",
        "refuses to be told twice",
        "api",
        "  boot.acknowledge(n);",
        '  if (n <= boot.events.forgotten) throw new Problem(410, "Forgotten", "that is forgotten");\n'
        "  boot.acknowledge(n);",
    ),
    _of(
        "acknowledging.bounds",
        "takes an acknowledgement of what is to come",
        "api",
        "  notIssued(boot, n);\n",
        "  if (n > boot.events.last) return void response.writeHead(204).end();\n",
    ),
    # How jobs end.
    _of(
        "stopping.always",
        "answers 404 for a job that is not here",
        "api",
        "client may escape.\n  response.writeHead(204).end();",
        "client may escape.\n  response.writeHead(boot.knows(id) ? 204 : 404).end();",
    ),
    _of(
        "stopping.alone",
        "stops whichever attempt it has",
        "boot",
        "job?.id === id && job.attempt === attempt",
        "job?.id === id",
    ),
    _of(
        "deadline.kills outcomes.valid",
        # So early that no host is so slow to kill that the case has its time after all.
        "kills at a quarter of the time",
        "attempt",
        "Math.ceil(left_ms) + 1",
        "left_ms / 4",
    ),
    _of(
        "deadline.kills outcomes.valid",
        "passes what it killed",
        "outcome",
        'timed_out: "failed"',
        'timed_out: "passed"',
    ),
    # What an outcome holds.
    _of("outcomes.output", "keeps too much of what was printed", "attempt", "BYTES = 16_384", "BYTES = 131_072"),
    _of("outcomes.output", "counts what it keeps", "outcome", "log_bytes: log.bytes", "log_bytes: log.tail.length"),
    _of("outcomes.lines", "ends an event with a carriage return", "events", 'n }) + "\\n"', 'n }) + "\\r"'),
    _of("outcomes.lines", "says more in a heartbeat", "boot", 'type: "heartbeat", n', 'type: "heartbeat", load: 1, n'),
    _of(
        "outcomes.lines",
        "sends Latin-1",
        "api",
        _WRITE,
        r"""response.write(Buffer.from(events.line(++sent).replace('log_tail":"', 'log_tail":"\u00ff'), "latin1"));""",
    ),
    _of(
        "outcomes.valid outcomes.own",
        "has NaN in an outcome",
        "events",
        'n }) + "\\n"',
        """n }).replace('"position":0', '"position":NaN') + "\\n\"""",
    ),
    _of("outcomes.valid", "has NUL in a text", "outcome", 'log.tail.replaceAll("\\0", "")', '"\\0" + log.tail'),
    _of("outcomes.valid", "has a word of its own for passed", "outcome", 'returned: "passed"', 'returned: "good"'),
    _of("outcomes.valid", "has a negative duration", "attempt", _SEEN, _SEEN.replace("this", "-this", 1)),
    _of(
        "outcomes.valid",
        "has a duration in ms",
        "attempt",
        _SEEN,
        _SEEN.replace("clock.s", "clock.s * 1000"),
        "deadline.kills",
    ),
    _of(
        "outcomes.valid",
        "has a member of its own in the evidence of a kill",
        "attempt",
        "evidence: { stage, ...evidence }",
        'evidence: { stage, colour: "red", ...evidence }',
        beside="deadline.kills",
    ),
    _of(
        "outcomes.valid",
        "says on_device of a host_only case",
        "worker",
        'case_.host_only ? "host_only" : "on_device"',
        '"on_device"',
    ),
    _of(
        "outcomes.own",
        "has an invalid outcome of its own cases",
        "attempt",
        _SEEN,
        _SEEN.replace("this.#clock.s", 'this.job.suite === "node" ? null : this.#clock.s'),
    ),
    _of(
        "outcomes.own",
        "does not know its own cases",
        "boot",
        "if (!SUITES.get(job.suite)",
        'if (job.suite === "node" || !SUITES.get(job.suite)',
    ),
    _of("outcomes.own", "has negative samples", "timing", "taken.push(each);", "taken.push(-each);"),
    _of("outcomes.own", "has times in µs", "timing", "- begin) / 1e6", "- begin) / 1e3"),
    _of("outcomes.own", "has no calls in a sample", "timing", "calls_per_sample: calls }", "calls_per_sample: 0 }"),
    _of("outcomes.own", "takes no samples", "worker", _SAMPLES, 'if (policy === "never") {'),
    _of("outcomes.own", "samples what is not to be timed", "worker", _SAMPLES, 'if (policy !== "paper") {'),
    _of(
        "outcomes.own",
        "has no first call",
        "worker",
        'if (policy !== "off") timing.cold_ms',
        'if (policy === "paper") timing.cold_ms',
    ),
    _of("outcomes.own", "shares processes under the paper's rule", "outcome", "position: 0,", "position: 3,"),
    _of("outcomes.own", "waits longer than the world lasts", "attempt", "this.#waiting.s * 1000", "1e300"),
)
