// Nothing unacknowledged is dropped, and what is kept has a bound.

import assert from "node:assert";
import { test } from "node:test";
import { EventLog } from "./events.js";

test("events are numbered without gaps, over what is forgotten too", () => {
  const log = new EventLog();
  assert.deepStrictEqual([log.add({}), log.add({}), log.add({})], [1, 2, 3]);
  log.trim(2);
  assert.strictEqual(log.add({ type: "last" }), 4);
  assert.deepStrictEqual([log.forgotten, log.last, log.line(2)], [2, 4, undefined]);
  assert.deepStrictEqual(JSON.parse(log.line(4)), { type: "last", n: 4 });
});

test("an acknowledgement that comes twice or late forgets nothing more", () => {
  const log = new EventLog();
  for (let n = 0; n < 5; n++) log.add({});
  for (const n of [3, 3, 1]) log.trim(n);
  assert.deepStrictEqual([log.forgotten, JSON.parse(log.line(4)).n], [3, 4]);
});

for (const [what, event] of [["many", {}], ["large", { text: "x".repeat(1 << 20) }]]) {
  test(`a log of ${what} events is full until some are acknowledged, and has dropped none`, () => {
    const log = new EventLog();
    while (!log.full) log.add(event);
    assert.ok(log.last <= 20_000);
    assert.strictEqual(JSON.parse(log.line(1)).n, 1);
    log.trim(log.last - 1);
    assert.ok(!log.full);
  });
}
