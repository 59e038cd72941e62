// What a request may hold. Messages are strict: a field that is missing, unknown or of another kind is an error.

const MOST_BYTES = 4 * 1024 * 1024;
const MOST_JOBS = 1000;
const MOST_TIMEOUT_S = 14_400;
const MOST_NAME = 128;
const MOST_CASE_NAME = 500;
const MOST_RUNS = 32_767; // Of attempts, too.

/** An answer by RFC 9457 in place of what was asked for. */
export class Problem extends Error {
  constructor(status, title, detail, more = {}) {
    super(detail);
    Object.assign(this, { status, title, more });
  }
}

const invalid = (detail) => new Problem(422, "Not a valid request", detail);

const matching = (pattern, what) => [(value) => typeof value === "string" && pattern.test(value), what];
const whole = (least, most = Number.MAX_SAFE_INTEGER) => [
  (value) => Number.isSafeInteger(value) && value >= least && value <= most,
  `a whole number from ${least}${most < Number.MAX_SAFE_INTEGER ? ` to ${most}` : ""}`,
];
const text = (most) => [
  (value) => typeof value === "string" && value.length <= most && value.isWellFormed() && !value.includes("\0"),
  `text of at most ${most} characters`,
];
const name = text(MOST_NAME);
const list = [
  (value) => Array.isArray(value) && value.length >= 1 && value.length <= MOST_JOBS,
  `a list of 1 to ${MOST_JOBS}`,
];

const JOB = {
  id: matching(/^[A-Za-z0-9_.:-]{1,64}$/, "1 to 64 of A-Z a-z 0-9 _ . : -"),
  attempt: whole(1, MOST_RUNS),
  case: text(MOST_CASE_NAME),
  run: whole(1, MOST_RUNS),
  timeout_s: [
    (value) => typeof value === "number" && value > 0 && value <= MOST_TIMEOUT_S,
    `a number over 0 and up to ${MOST_TIMEOUT_S}`,
  ],
  timing: matching(/^(steady|quick|paper|off)$/, "steady, quick, paper or off"),
};
const BATCH = { boot_id: name, suite: name, revision: name, jobs: list };
const ACKNOWLEDGEMENT = { boot_id: name, n: whole(0) };

function checked(value, shape, where) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) throw invalid(`${where} must be an object`);
  for (const name of Object.keys(value)) {
    if (!Object.hasOwn(shape, name)) throw invalid(`${where} has an unknown field ${JSON.stringify(name)}`);
  }
  for (const [name, [holds, what]] of Object.entries(shape)) {
    if (!Object.hasOwn(value, name)) throw invalid(`${where} lacks the field ${name}`);
    if (!holds(value[name])) throw invalid(`${name} of ${where} must be ${what}`);
  }
  return value;
}

/** The bytes of a body as JSON. */
export async function body(request) {
  const chunks = [];
  let bytes = 0;
  // Left early, the loop must not close the connection before the answer is sent.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) throw new Problem(413, "Too large", `a body has at most ${MOST_BYTES} bytes`);
    chunks.push(chunk);
  }
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks)));
  } catch (error) {
    throw invalid(`the body is not JSON: ${error.message}`);
  }
}

export function batch(value) {
  const { jobs, ...rest } = checked(value, BATCH, "the batch");
  const complete = (job, index) => checked({ timing: "steady", ...Object(job) }, JOB, `job ${index}`);
  return { ...rest, jobs: jobs.map(complete) };
}

export const acknowledgement = (value) => checked(value, ACKNOWLEDGEMENT, "the acknowledgement");

/** Where a stream is to begin. */
export function position(query) {
  const after = query.get("after") ?? "0";
  if (!query.has("boot_id")) throw invalid("the query lacks boot_id");
  if (!/^\d{1,15}$/.test(after)) throw invalid("after must be a whole number from 0");
  return { boot_id: query.get("boot_id"), after: Number(after) };
}
