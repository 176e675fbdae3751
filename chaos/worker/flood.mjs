/**
 * A flood: jobs over several queues as fast as BullMQ goes, and the ledger of what became of them as the workers know it.
 *
 *     node flood.mjs [--bullmq 6.7.0] [--jobs 20000] [--queues flood-1,flood-2,flood-3,flood-4]
 *
 *     --workers 2 --concurrency 10     workers a queue, jobs that each of them runs at a time; 0 workers only add
 *     --sleep 0                        how long a job runs (ms)
 *     --attempts 2 --backoff 0         how often a job may run, and how long it waits in between (ms)
 *     --fail-once 10                   every so many jobs of a queue one fails at its first attempt; 0 for none
 *     --fail-always 50                 every so many jobs of a queue one fails at each attempt; 0 for none
 *     --stall 0                        every so many jobs of a queue one hangs at its first run until it is found stalled
 *     --remove completed               what BullMQ removes at its end: nothing, completed, all
 *     --metrics                        workers keep BullMQ's own metrics
 *     --runs                           the ledger lists each run as well
 *     --wait                           the flood begins at a line on standard input
 *
 * Environment: QOBSERVE_REDIS_URL, QOBSERVE_PREFIX. Output, one JSON object a line: {"ready": [names]} when all queues can
 * be found and all workers are ready; {"ledger": {...}} when all has ended and all workers are closed. Moments and sums are
 * milliseconds on this process's clock. In the ledger of a queue:
 *
 *     added completed failed retried stalled     failed: for good; retried: failed, and to run again by itself
 *                    (each run ends as one of the last four)
 *     waitMs         ready (added; failed before, and backed off; found stalled) -> processedOn
 *     processingMs   processedOn -> finishedOn (of a run that was not the last: its processor has ended, it was found stalled)
 *     settledMs      processedOn -> the worker knows that Redis has taken the end
 *
 * A run is [queue, jobId, number, ready, processedOn, ended, settled, outcome].
 */

import { createRequire } from "node:module";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";

const text = (value) => ({ type: "string", default: value });
const flag = { type: "boolean", default: false };
const { values: flags } = parseArgs({
  options: {
    bullmq: text("6.7.0"),
    jobs: text("20000"),
    queues: text("flood-1,flood-2,flood-3,flood-4"),
    workers: text("2"),
    concurrency: text("10"),
    sleep: text("0"),
    attempts: text("2"),
    backoff: text("0"),
    "fail-once": text("10"),
    "fail-always": text("50"),
    stall: text("0"),
    remove: text("completed"),
    metrics: flag,
    runs: flag,
    wait: flag,
  },
});

const BULK = 100;
const METRICS_POINTS = 60;
// Locks are never renewed where jobs shall stall; they outlast any healthy job.
const STALLING = { lockDuration: 3000, lockRenewTime: 2 ** 30, stalledInterval: 500 };
const load = createRequire(import.meta.url);
const { Queue, Worker } = load(`bullmq-${flags.bullmq}`);
const IORedis = load("ioredis");
const prefix = process.env.QOBSERVE_PREFIX ?? "bull";
const [jobs, attempts, backoff] = [flags.jobs, flags.attempts, flags.backoff].map(Number);
const [sleepMs, failOnce, failAlways] = [flags.sleep, flags["fail-once"], flags["fail-always"]].map(Number);
const stallEach = Number(flags.stall);
// Up to BullMQ 4 an attempt counts when it starts, so that a run that hung is one as well.
const counted = Number(flags.bullmq.split(".")[0]) <= 4 ? "runs" : "failures";
const runs = [];
const errors = [];
const ends = new WeakMap();
const done = resolvers();
let endedJobs = 0;

function resolvers() {
  const parts = {};
  parts.promise = new Promise((resolve, reject) => Object.assign(parts, { resolve, reject }));
  return parts;
}

function connection() {
  return new IORedis(process.env.QOBSERVE_REDIS_URL ?? "redis://127.0.0.1:6379/0", { maxRetriesPerRequest: null });
}

function heard(emitter) {
  emitter.on("error", (error) => errors.push(error.message));
  return emitter;
}

/** A queue, its workers and its page of the ledger; `open` holds the jobs that ran before, by number; `hung` those that hang, by id. */
function opened(name) {
  const page = { added: 0, completed: 0, failed: 0, retried: 0, stalled: 0, waitMs: 0, processingMs: 0, settledMs: 0 };
  const one = { name, page, open: new Map(), hung: new Map(), workers: [] };
  one.queue = heard(new Queue(name, { connection: connection(), prefix }));
  const options = { prefix, concurrency: Number(flags.concurrency), ...(stallEach ? STALLING : {}) };
  if (flags.metrics) options.metrics = { maxDataPoints: METRICS_POINTS };
  for (let index = 0; index < Number(flags.workers); index += 1) {
    const worker = heard(new Worker(name, (job) => run(one, job), { ...options, connection: connection() }));
    worker.on("completed", (job) => settle(one, job, "completed"));
    worker.on("failed", (job) => settle(one, job, before(one, job)[counted] + 1 < attempts ? "retried" : "failed"));
    worker.on("stalled", (id) => stall(one, id));
    one.workers.push(worker);
  }
  return one;
}

/** What a job has behind it, and since when it could have run again. */
function before({ open }, job) {
  return open.get(job.data.n) ?? { runs: 0, failures: 0, ready: job.timestamp };
}

function isEach(period, number) {
  return period > 0 && number % period === 0;
}

async function run(one, job) {
  const { n } = job.data;
  const { runs: number, failures } = before(one, job);
  if (isEach(stallEach, n) && number === 0) {
    one.hung.set(job.id, job);
    await new Promise(() => {});
  }
  if (sleepMs) await sleep(sleepMs);
  const fails = isEach(failAlways, n) || (isEach(failOnce, n) && failures === 0);
  ends.set(job, Date.now());
  if (fails) throw new Error("told to fail");
  return n;
}

function stall(one, id) {
  const job = one.hung.get(id);
  if (!job) errors.push(`job ${id} stalled unasked`);
  else settle(one, job, "stalled");
}

function settle(one, job, outcome) {
  const { name, page, open } = one;
  const settled = Date.now();
  const ended = job.finishedOn || (ends.get(job) ?? settled);
  const past = before(one, job);
  page[outcome] += 1;
  page.waitMs += job.processedOn - past.ready;
  page.processingMs += ended - job.processedOn;
  page.settledMs += settled - job.processedOn;
  if (flags.runs) runs.push([name, job.id, past.runs + 1, past.ready, job.processedOn, ended, settled, outcome]);
  if (outcome === "retried") open.set(job.data.n, { runs: past.runs + 1, failures: past.failures + 1, ready: ended + backoff });
  else if (outcome === "stalled") open.set(job.data.n, { ...past, runs: past.runs + 1, ready: ended });
  else endJob(open, job);
}

function endJob(open, job) {
  open.delete(job.data.n);
  endedJobs += 1;
  if (endedJobs === jobs) done.resolve();
}

async function fill({ queue, page }, count) {
  const opts = { attempts, removeOnComplete: flags.remove !== "nothing", removeOnFail: flags.remove === "all" };
  if (backoff) opts.backoff = { type: "fixed", delay: backoff };
  while (page.added < count) {
    const size = Math.min(BULK, count - page.added);
    const bulk = Array.from({ length: size }, (_, index) => ({ name: "flood", data: { n: page.added + index + 1 }, opts }));
    page.added += (await queue.addBulk(bulk)).length;
  }
}

function say(answer) {
  return new Promise((resolve) => process.stdout.write(`${JSON.stringify(answer)}\n`, resolve));
}

const all = flags.queues.split(",").map(opened);
await Promise.all(all.flatMap(({ queue, workers }) => [queue, ...workers]).map((part) => part.waitUntilReady()));
// A queue can be found by its `meta`, which each Queue writes on its own when it is ready.
const redis = connection();
const metas = all.map(({ name }) => `${prefix}:${name}:meta`);
while ((await redis.exists(...metas)) < metas.length) await sleep(5);
await say({ ready: all.map(({ name }) => name) });
if (flags.wait) await once(process.stdin, "data");

const began = Date.now();
await Promise.all(all.map((one, index) => fill(one, Math.floor((jobs + all.length - 1 - index) / all.length))));
const addedSeconds = (Date.now() - began) / 1000;
if (jobs && Number(flags.workers)) await done.promise;
const seconds = (Date.now() - began) / 1000;
await Promise.all(all.flatMap(({ workers }) => workers).map((worker) => worker.close(stallEach > 0)));
const queues = Object.fromEntries(all.map(({ name, page }) => [name, page]));
await say({ ledger: { version: flags.bullmq, seconds, addedSeconds, cpuSeconds: process.cpuUsage().user / 1e6, queues, runs, errors } });
process.exit(0);
