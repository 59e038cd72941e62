// What a case is judged by: comparisons that say where and by how much a result is wrong.

export class Mismatch extends Error {
  constructor(message, rightAt = null) {
    super(message);
    this.rightAt = rightAt;
  }
}

const FLOAT32 = 2 ** -22;

function sameKind(actual, expected) {
  const kind = (value) => value?.constructor?.name ?? String(value);
  if (kind(actual) !== kind(expected)) throw new Mismatch(`${kind(actual)} instead of ${kind(expected)}`);
  const [length, wanted] = [actual?.length, expected?.length];
  if (length !== wanted) throw new Mismatch(`length ${length} instead of ${wanted}`);
}

const differs = (at, actual, expected) => `element ${at}: ${String(actual)} instead of ${String(expected)}`;

/** The same type, length and elements, NaN and the sign of zero included; or the same single value. */
export function same(actual, expected) {
  sameKind(actual, expected);
  if (typeof expected !== "object") {
    if (!Object.is(actual, expected)) throw new Mismatch(`${String(actual)} instead of ${String(expected)}`);
    return;
  }
  const at = Array.from(expected).findIndex((each, index) => !Object.is(actual[index], each));
  if (at >= 0) throw new Mismatch(differs(at, actual[at], expected[at]));
}

/** The same type and length, and every element within a relative tolerance. */
export function close(actual, expected, tolerance) {
  sameKind(actual, expected);
  const within = (share) => (each, index) => Math.abs(actual[index] - each) <= share * Math.abs(each);
  const list = Array.from(expected);
  const at = list.findIndex((each, index) => !within(tolerance)(each, index));
  if (at < 0) return;
  throw new Mismatch(differs(at, actual[at], expected[at]), list.every(within(FLOAT32)) ? "float32" : null);
}
