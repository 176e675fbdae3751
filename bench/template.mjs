/**
 * One queue as BullMQ 6.7.0 writes it, to be cloned: every job gets into its state by BullMQ's own calls.
 *
 *     node template.mjs PORT NAME '{"waiting": 700, "prioritized": 100, "delayed": 48, "active": 2, "completed": 100, "failed": 48}' 0
 *
 * Two job schedulers come with it, each with its next job among the delayed ones. Where less is wanted than elsewhere, the
 * same work was done before and removed, so that the event stream, `meta`, `id` and the workers' counts look alike; the last
 * word tells how many jobs are to have waited once.
 */

import { createRequire } from "node:module";

const load = createRequire(new URL("../chaos/worker/", import.meta.url));
const { Queue, Worker } = load("bullmq-6.7.0");
const [port, name, wanted, onceWaiting] = process.argv.slice(2);
const connection = { host: "127.0.0.1", port: Number(port) };
const counts = JSON.parse(wanted);
const HISTORY = { completed: 100, failed: 48, waiting: Number(onceWaiting) };
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
const LEVELS = [1, 5, 10];

const queue = new Queue(name, { connection });
// The locks outlast any benchmark; nothing is run by the worker, it only fetches jobs.
const worker = new Worker(name, null, { connection, autorun: false, lockDuration: DAY_MS, metrics: { maxDataPoints: 1440 } });

function jobs(count, opts = () => ({})) {
  return Array.from({ length: count }, (_, index) => ({
    name: "send",
    data: { to: `user${index}@example.org`, template: "welcome", attempt: index, tags: ["a", "b", "c"] },
    opts: { attempts: 3, backoff: { type: "exponential", delay: 1000 }, ...opts(index) },
  }));
}

async function start(count) {
  const started = [];
  for (let index = 0; index < count; index += 1) started.push(await worker.getNextJob(`bench:${index}`, { block: false }));
  return started;
}

async function finish(completed, failed) {
  await queue.addBulk(jobs(completed + failed, () => ({ attempts: 1 })));
  for (const [index, job] of (await start(completed + failed)).entries()) {
    if (index < completed) await job.moveToCompleted({ sent: true }, job.token, false);
    else await job.moveToFailed(new Error("the server said no"), job.token, false);
  }
}

/** Remove what the history's work left beyond what is wanted. */
async function trim(state, type = state) {
  const surplus = HISTORY[state] - counts[state];
  if (surplus > 0) await queue.clean(0, surplus, type);
}

await queue.upsertJobScheduler("hourly", { pattern: "0 * * * *", tz: "UTC" }, { name: "report", data: { kind: "hourly" } });
await queue.upsertJobScheduler("nightly", { pattern: "0 3 * * *", tz: "UTC" }, { name: "report", data: { kind: "nightly" } });
await finish(Math.max(HISTORY.completed, counts.completed), Math.max(HISTORY.failed, counts.failed));
await trim("completed");
await trim("failed");
await queue.addBulk(jobs(counts.active));
await start(counts.active);
await queue.addBulk(jobs(Math.max(HISTORY.waiting, counts.waiting)));
await trim("waiting", "wait");
await queue.addBulk(jobs(counts.prioritized, (index) => ({ priority: LEVELS[index % LEVELS.length] })));
await queue.addBulk(jobs(counts.delayed, (index) => ({ delay: DAY_MS + index * MINUTE_MS })));
process.stdout.write(JSON.stringify(await queue.getJobCounts()));
await worker.close();
await queue.close();
