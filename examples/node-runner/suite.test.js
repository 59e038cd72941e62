// Every case can fail: a function that does nothing does not pass, and a result that is slightly wrong is noticed.

import assert from "node:assert";
import { test } from "node:test";
import { Mismatch } from "./checks.js";
import { SUITES } from "./suites.js";

const present = [...SUITES.get("node").cases.values()].filter((each) => each.find());

/** The same result with one thing in it slightly wrong. */
function spoiled(result) {
  if (typeof result === "number") return result * 1.01 + 1;
  if (typeof result === "bigint") return result + 1n;
  if (typeof result === "string") return result.slice(1) + "?";
  if (Array.isArray(result) || ArrayBuffer.isView(result)) {
    const copy = result.slice();
    const at = copy.findIndex((each) => !Object.is(spoiled(each), each) && each !== 255);
    copy[at] = spoiled(copy[at]);
    return copy;
  }
  const [name, value] = Object.entries(result)[0];
  return { ...result, [name]: spoiled(value) };
}

const notPassed = (error) => error instanceof Mismatch || error instanceof TypeError;

for (const each of present) {
  const run = (subject, spoil = (result) => result) => {
    const inputs = each.inputs();
    each.check(spoil(each.call(subject, each.fresh(inputs))), inputs);
  };
  test(`${each.id} passes`, () => run(each.find()));
  test(`${each.id} notices a function that does nothing`, () => assert.throws(() => run(() => undefined), notPassed));
  test(`${each.id} notices a result that is slightly wrong`, () => {
    assert.throws(() => run(each.find(), spoiled), Mismatch);
  });
}
