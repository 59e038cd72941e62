// The suite `node`: functions of JavaScript and Node.js, each judged by something that does not use it.

import { close, same } from "./checks.js";

const DOUBLE = 2 ** -51;

/** Numbers from 0 to 1 that depend on the case's id alone, so that they are the same on every target and run. */
function uniform(id, count) {
  let state = 2166136261;
  for (const character of id) state = Math.imul(state ^ character.codePointAt(0), 16777619);
  return Float64Array.from({ length: count }, () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  });
}

const random = (id, count, scale) => uniform(id, count).map((each) => (each - 0.5) * 2 * scale);
const integers = (id, count, scale) => random(id, count, scale).map(Math.round);

/** The nearest float32, ties to even, by counting units of its last place. */
function nearestFloat32(value) {
  if (!Number.isFinite(value) || value === 0) return value;
  const size = Math.abs(value);
  let unit = 2 ** -149;
  while (size / unit >= 2 ** 24) unit *= 2;
  const units = size / unit;
  const below = Math.floor(units);
  const up = units - below > 0.5 || (units - below === 0.5 && below % 2 === 1);
  const rounded = (below + (up ? 1 : 0)) * unit;
  return Math.sign(value) * (rounded < 2 ** 128 ? rounded : Infinity);
}

/** Sorted by merging, stable, with `before(a, b)` saying that a must not come after b. */
function merged(values, before) {
  if (values.length < 2) return values;
  const middle = values.length >> 1;
  const [left, right] = [merged(values.slice(0, middle), before), merged(values.slice(middle), before)];
  const result = [];
  let at = 0;
  for (const each of right) {
    while (at < left.length && before(left[at], each)) result.push(left[at++]);
    result.push(each);
  }
  return [...result, ...left.slice(at)];
}

/** The order of numbers in a typed array: by value, minus zero before zero, NaN last. */
const numeric = (a, b) => Number.isNaN(b) || a < b || (a === b && (Object.is(a, -0) || !Object.is(b, -0)));

/** Remainder by a power of two that is never negative. */
const modulo = (value, bits) => ((value % 2n ** bits) + 2n ** bits) % 2n ** bits;
const signed = (value, bits) => modulo(value + 2n ** (bits - 1n), bits) - 2n ** (bits - 1n);
const bigs = (id) => Array.from(integers(id, 64, 2 ** 52), (each) => BigInt(each) * 2n ** 40n + 12345n);
const EDGES = [0n, 1n, -1n, 127n, 128n, 2n ** 63n, -(2n ** 63n), 2n ** 64n - 1n, 2n ** 64n];

const each = (subject, values) => values.map((value) => subject(value));
const expecting = (reference) => (result, inputs) => same(result, reference(inputs));

export const FUNCTIONS = {
  "Math.fround": {
    call: each,
    check: expecting((values) => values.map(nearestFloat32)),
    cases: {
      random: (id) => random(id, 1024, 1000),
      ties: () => Float64Array.of(1 + 2 ** -24, 1 + 3 * 2 ** -24, -1 - 2 ** -24, 2 ** 24 + 1, 2 ** 24 + 3),
      subnormal: () => Float64Array.of(2 ** -149, 2 ** -150, 1.5 * 2 ** -150, -(2 ** -151), 2 ** -126 - 2 ** -149),
      overflow: () => Float64Array.of(2 ** 128, 2 ** 128 - 2 ** 103, 2 ** 128 - 2 ** 104, -Infinity, NaN, -0),
    },
  },
  "Math.imul": {
    call: (imul, [left, right]) => left.map((value, index) => imul(value, right[index])),
    check: expecting(([left, right]) =>
      left.map((value, index) => Number(signed(BigInt(value) * BigInt(right[index]), 32n))),
    ),
    cases: {
      random: (id) => [integers(id, 1024, 2 ** 31 - 1), integers(`${id} right`, 1024, 2 ** 31 - 1)],
      edges: () => [Float64Array.of(-1, 2 ** 31, 2 ** 32 - 1, 65536), Float64Array.of(-1, 2, 2 ** 32 - 1, 65536)],
    },
  },
  "Math.clz32": {
    call: each,
    check: expecting((values) => values.map((value) => (value ? 32 - value.toString(2).length : 32))),
    cases: {
      random: (id) => uniform(id, 1024).map((value) => Math.floor(value * 2 ** 32)),
      powers: () => Float64Array.from({ length: 33 }, (_, power) => (power ? 2 ** (power - 1) : 0)),
    },
  },
  "Math.hypot": {
    call: (hypot, pairs) => Float64Array.from(pairs, ({ sides }) => hypot(...sides)),
    check: (result, pairs) => close(result, Float64Array.from(pairs, ({ across }) => across), DOUBLE),
    cases: {
      triples: () => pythagorean(1),
      huge: () => pythagorean(2 ** 1000),
      tiny: () => pythagorean(2 ** -1040),
    },
  },
  "Math.log1p": {
    call: each,
    check: (result, values) => close(result, values.map(logarithmSeries), DOUBLE),
    cases: {
      small: (id) => random(id, 256, 0.1),
      tiny: (id) => random(id, 256, 1e-12),
    },
  },
  "Array.prototype.sort": {
    fresh: ({ values, ...rest }) => ({ values: values.slice(), ...rest }),
    call: (sort, { values, compare }) => sort.call(values, compare),
    check: expecting(({ values, before }) => merged(values, before)),
    cases: {
      "as-text": (id) => ({ values: [...integers(id, 256, 1000)], before: (a, b) => String(a) <= String(b) }),
      stable: (id) => ({
        values: Array.from(integers(id, 256, 5), (key, index) => ({ key, index })),
        compare: (a, b) => a.key - b.key,
        before: (a, b) => a.key <= b.key,
      }),
    },
  },
  "Float32Array.prototype.sort": {
    fresh: (values) => values.slice(),
    call: (sort, values) => sort.call(values),
    check: expecting((values) => Float32Array.from(merged([...values], numeric))),
    cases: {
      random: (id) => new Float32Array(random(id, 4096, 1)),
      sorted: () => Float32Array.from({ length: 4096 }, (_, index) => index),
      special: () => Float32Array.of(1, NaN, 0, -0, -Infinity, Infinity, 0, -0, -1),
    },
  },
  "Float32Array.from": {
    call: (from, { source, map }) => from.call(Float32Array, source, map),
    check: expecting(({ source, map = (value) => value }) => {
      const expected = new Float32Array(source.size ?? source.length);
      let at = 0;
      for (const value of source) expected[at++] = nearestFloat32(map(value));
      return expected;
    }),
    cases: {
      array: (id) => ({ source: [...random(id, 1024, 1e6)] }),
      iterable: (id) => ({ source: new Set(random(id, 256, 1)) }),
      mapped: (id) => ({ source: [...random(id, 256, 1)], map: (value) => value * 3 }),
    },
  },
  "Float64Array.prototype.reduce": {
    call: (reduce, { values, step }) => reduce.call(values, step),
    check: (result, { expected }) => same(result, expected),
    cases: {
      sum: () => ({
        values: Float64Array.from({ length: 4096 }, (_, index) => index + 1),
        step: (sum, value) => sum + value,
        expected: (4096 * 4097) / 2,
      }),
      product: () => ({
        values: new Float64Array(1000).fill(2),
        step: (product, value) => product * value,
        expected: 2 ** 1000,
      }),
    },
  },
  "Uint8ClampedArray.from": {
    call: (from, values) => from.call(Uint8ClampedArray, values),
    check: expecting((values) => {
      const expected = new Uint8ClampedArray(values.length);
      values.forEach((value, index) => (expected[index] = clamped(value)));
      return expected;
    }),
    cases: {
      random: (id) => [...random(id, 1024, 400)],
      edges: () => [-1, 0.5, 1.5, 2.5, 254.5, 255.5, 256, Infinity, -Infinity, NaN],
    },
  },
  "Float32Array.prototype.copyWithin": {
    fresh: ({ values, ...rest }) => ({ values: values.slice(), ...rest }),
    call: (copyWithin, { values, move }) => copyWithin.call(values, ...move),
    check: expecting(({ values, move: [to, from, end] }) => {
      const expected = [...values];
      expected.splice(to, end - from, ...expected.slice(from, end));
      return Float32Array.from(expected);
    }),
    cases: {
      forward: (id) => ({ values: new Float32Array(random(id, 1024, 1)), move: [100, 0, 800] }),
      backward: (id) => ({ values: new Float32Array(random(id, 1024, 1)), move: [0, 100, 900] }),
    },
  },
  "DataView.prototype.setFloat32": {
    call: (setFloat32, { values, little }) => {
      const bytes = new Uint8Array(4 * values.length);
      values.forEach((value, index) => setFloat32.call(new DataView(bytes.buffer), 4 * index, value, little));
      return bytes;
    },
    check: (result, { expected }) => same(result, Uint8Array.from(expected)),
    cases: {
      "big-endian": () => ({
        values: [1, -2, 0.15625, Infinity],
        little: false,
        expected: [0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0, 0x3e, 0x20, 0, 0, 0x7f, 0x80, 0, 0],
      }),
      "little-endian": () => ({
        values: [1, -0, 2 ** -149],
        little: true,
        expected: [0, 0, 0x80, 0x3f, 0, 0, 0, 0x80, 1, 0, 0, 0],
      }),
    },
  },
  "crypto.createHash": {
    call: (createHash, { algorithm, text }) => createHash(algorithm).update(text).digest("hex"),
    check: (result, { digest }) => same(result, digest),
    // The digests are those that the algorithms' own standards print.
    cases: {
      "md5-empty": () => ({ algorithm: "md5", text: "", digest: "d41d8cd98f00b204e9800998ecf8427e" }),
      "sha1-abc": () => ({ algorithm: "sha1", text: "abc", digest: "a9993e364706816aba3e25717850c26c9cd0d89d" }),
      "sha256-abc": () => ({
        algorithm: "sha256",
        text: "abc",
        digest: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
      }),
      "sha256-million": () => ({
        algorithm: "sha256",
        text: "a".repeat(1_000_000),
        digest: "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
      }),
    },
  },
  "BigInt.asUintN": {
    call: (asUintN, values) => values.map((value) => asUintN(64, value)),
    check: expecting((values) => values.map((value) => modulo(value, 64n))),
    cases: { random: bigs, edges: () => EDGES },
  },
  "BigInt.asIntN": {
    call: (asIntN, values) => values.map((value) => asIntN(64, value)),
    check: expecting((values) => values.map((value) => signed(value, 64n))),
    cases: { random: bigs, edges: () => EDGES },
  },
  "BigInt.prototype.toString": {
    call: (toString, { value, radix }) => toString.call(value, radix),
    check: (result, { text }) => same(result, text),
    cases: {
      hexadecimal: () => ({ value: 2n ** 4000n, radix: 16, text: "1" + "0".repeat(1000) }),
      decimal: () => ({ value: 10n ** 500n - 1n, radix: 10, text: "9".repeat(500) }),
      negative: () => ({ value: -(2n ** 70n), radix: 2, text: "-1" + "0".repeat(70) }),
    },
  },
  "Atomics.add": {
    call: (add, { Kind, amounts }) => {
      const cell = new Kind(new SharedArrayBuffer(Kind.BYTES_PER_ELEMENT));
      const before = amounts.map((amount) => add(cell, 0, amount));
      return [...before, cell[0]];
    },
    check: (result, { expected }) => same(result, expected),
    cases: {
      counts: () => ({ Kind: Int32Array, amounts: [1, 2, 3], expected: [0, 1, 3, 6] }),
      wraps: () => ({ Kind: Uint8Array, amounts: [250, 10], expected: [0, 250, 4] }),
    },
  },
  structuredClone: {
    call: (clone, values) => {
      const copy = clone(values);
      const kept = Float32Array.from(copy);
      values.fill(7); // A copy that shares its memory would change too.
      return { copy, kept };
    },
    fresh: (values) => values.slice(),
    check: ({ copy, kept }, values) => {
      same(kept, values);
      same(copy, values);
    },
    cases: { float32: (id) => new Float32Array(random(id, 1024, 1)) },
  },
  // This one is younger than Node.js 20, and the next than its first: where one is absent, the chart says «removed».
  "Set.prototype.union": {
    call: (union, [left, right]) => [...union.call(left, right)],
    check: expecting(([left, right]) => [...left, ...[...right].filter((value) => !left.has(value))]),
    cases: { overlapping: () => [new Set([1, 2, 3]), new Set([3, 4, 1, 5])] },
  },
  "zlib.crc32": {
    call: (crc32, text) => crc32(text),
    check: expecting(crcByBits),
    cases: { digits: () => "123456789", empty: () => "" },
  },
};

/** Sides of right triangles in whole numbers, and the third side, all scaled by a power of two. */
function pythagorean(scale) {
  const pairs = [];
  for (let m = 2; m < 20; m++) {
    for (let n = 1; n < m; n++) {
      const sides = [(m * m - n * n) * scale, 2 * m * n * scale];
      pairs.push({ sides, across: (m * m + n * n) * scale });
    }
  }
  return pairs;
}

/** log(1 + x) for small x by its power series, the smallest terms added first. */
function logarithmSeries(x) {
  let sum = 0;
  for (let power = 30; power > 0; power--) sum = x * (1 / power - sum);
  return sum;
}

function clamped(value) {
  if (!(value > 0)) return 0;
  if (value >= 255) return 255;
  const below = Math.floor(value);
  const rest = value - below;
  return below + (rest > 0.5 || (rest === 0.5 && below % 2 === 1) ? 1 : 0);
}

function crcByBits(text) {
  let remainder = 0xffffffff;
  for (const byte of Buffer.from(text)) {
    remainder ^= byte;
    for (let bit = 0; bit < 8; bit++) remainder = (remainder >>> 1) ^ (remainder & 1 ? 0xedb88320 : 0);
  }
  return (remainder ^ 0xffffffff) >>> 0;
}
