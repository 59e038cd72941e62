// How a call is timed until its median is known. When a call returns, it has computed: there is nothing to wait for.

const WARM_UP_MS = { least: 5, most: 50 };
const ALIKE = 0.05;
const SAMPLE_MS = 0.1;
const MOST_CALLS = 4096;
const SAMPLING = { leastSamples: 10, least_ms: 10, mostSamples: 200, most_ms: 200, quick_ms: 20, fewest: 3 };
const PRECISION = 0.01;

export const clock = (begin) => Number(process.hrtime.bigint() - begin) / 1e6;

// What a call returns is kept here, or V8 may find out that nobody needs it.
export let sink;

/** Milliseconds of each of some calls in a row; their inputs are made before the clock starts. */
function once(call, fresh, calls) {
  const inputs = Array.from({ length: calls }, fresh);
  const begin = process.hrtime.bigint();
  for (let index = 0; index < calls; index++) sink = call(inputs[index]);
  return clock(begin) / calls;
}

/** Call until two calls in a row take alike. */
function warmUp(call, fresh, most_ms) {
  const begin = process.hrtime.bigint();
  let before = once(call, fresh, 1);
  for (;;) {
    const now = once(call, fresh, 1);
    const spent = clock(begin);
    const alike = Math.abs(now - before) <= ALIKE * before;
    if ((alike && spent >= WARM_UP_MS.least) || spent >= most_ms) return;
    before = now;
  }
}

/** How many calls a sample needs to last long enough for the clock's own cost not to show. */
function callsPerSample(call, fresh) {
  let calls = 1;
  for (;;) {
    const lasted = calls * once(call, fresh, calls);
    if (lasted >= SAMPLE_MS || calls === MOST_CALLS) return calls;
    calls = Math.min(MOST_CALLS, Math.max(2 * calls, Math.ceil((calls * SAMPLE_MS) / lasted)));
  }
}

function quantile(sorted, share) {
  const place = share * (sorted.length - 1);
  const below = Math.floor(place);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
}

/** Whether the median is known to about one per cent, judged by the spread between the quartiles. */
function known(samples) {
  const sorted = Float64Array.from(samples).sort();
  const spread = quantile(sorted, 0.75) - quantile(sorted, 0.25);
  return spread / Math.sqrt(sorted.length) <= PRECISION * quantile(sorted, 0.5);
}

/** Warm up and sample; nothing is dropped as an outlier. Quick is the same in a tenth of the time. */
export function samples(call, fresh, policy) {
  const most_ms = policy === "quick" ? SAMPLING.quick_ms : SAMPLING.most_ms;
  warmUp(call, fresh, Math.min(WARM_UP_MS.most, most_ms));
  const calls = callsPerSample(call, fresh);
  const taken = [];
  let spent = 0;
  do {
    const each = once(call, fresh, calls);
    taken.push(each);
    spent += each * calls;
  } while (!enough(taken, spent, most_ms));
  return { samples_ms: taken, calls_per_sample: calls };
}

function enough(taken, spent, most_ms) {
  if (taken.length >= SAMPLING.mostSamples) return true;
  if (spent >= most_ms) return taken.length >= SAMPLING.fewest;
  return taken.length >= SAMPLING.leastSamples && spent >= SAMPLING.least_ms && known(taken);
}
