/**
 * Real BullMQ behind a line protocol: one JSON object a line on standard input, one answer a line on standard output.
 *
 *     node driver.mjs [--bullmq 6.7.0]
 *
 *     -> {"id": 7, "op": "add", "queue": "email", "name": "welcome", "data": {"key": "k1"}, "opts": {"delay": 500}}
 *     <- {"id": 7, "type": "ok", "jobId": "12"}
 *
 * Answers carry the request's `id` and may come in any order; requests are not queued behind each other.
 *
 *     "ok"    applied
 *     "fail"  certainly not applied; `error` says why (`"unsupported"` where this version of BullMQ has no such operation)
 *     "info"  unknown: the connection broke, or `timeoutMs` of the request passed, before the answer came
 *
 * Environment: QOBSERVE_REDIS_URL (redis://, rediss://, unix://; a private authority by NODE_EXTRA_CA_CERTS, or SSL_CERT_FILE
 * for Python), QOBSERVE_PREFIX (default `bull`; a request's `prefix` wins), QOBSERVE_DRIVER_OTLP_ENDPOINT (`http://host:port`;
 * it turns BullMQ's own telemetry on, for producers and workers, where the version has one).
 * The driver closes all and ends when its standard input ends. SIGKILL is how a test makes its workers crash.
 *
 * Operations, with their fields beside `queue` (and what the answer adds):
 *
 *     about                                                            (library, version, language)
 *     add                 name data opts                               (jobId)
 *     addBulk             jobs: [{name, data, opts}]                   (jobIds)
 *     addFlow             flow: {name, queueName, data, opts, children}, no `queue`   (flow: {jobId, queue, children})
 *     upsertScheduler     scheduler repeat name data opts              (jobId; a repeatable job before Job Schedulers)
 *     removeScheduler     scheduler
 *     pause, resume
 *     drain               delayed
 *     clean               state grace limit                            (jobIds)
 *     obliterate          force
 *     remove, promote     jobId
 *     retry               jobId state
 *     changePriority      jobId priority lifo
 *     rateLimit           ms
 *     setGlobalConcurrency concurrency (null removes)
 *     setGlobalRateLimit  max duration (null removes)
 *     getJobCounts                                                     (counts)
 *     getJobState         jobId                                        (state)
 *     metrics                                                          (text: exportPrometheusMetrics)
 *     work                worker script concurrency options            starts a worker; `worker` is its handle here
 *     stopWorker          worker force                                 closes it; running jobs end first unless forced
 *     failures            worker                                       (errors: what the worker has reported)
 *
 * `options` go to BullMQ's Worker as they are (name, limiter, lockDuration, stalledInterval, maxStalledCount, metrics,
 * drainDelay, ...). `script` says how jobs behave: by job name, `*` for all others, and a job's own `data.behaviour` wins.
 * A behaviour is an object of: `sleep` (ms), `hang` (never ends), `fail` (true, or how many attempts fail before one ends
 * well), `unrecoverable` (never retried), `delay` (ms: once, the job puts itself back into the delayed set),
 * `result` (what it returns).
 */

import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";

const DEFAULT_VERSION = "6.7.0";
const { values: flags } = parseArgs({ options: { bullmq: { type: "string", default: DEFAULT_VERSION } } });
const load = createRequire(import.meta.url);
const bullmq = load(`bullmq-${flags.bullmq}`);
const { version } = load(`bullmq-${flags.bullmq}/package.json`);
const major = Number(version.split(".")[0]);
const connection = connectionOf(process.env.QOBSERVE_REDIS_URL ?? "redis://127.0.0.1:6379/0");
const defaultPrefix = process.env.QOBSERVE_PREFIX ?? "bull";
const traced = await tracedTo(process.env.QOBSERVE_DRIVER_OTLP_ENDPOINT);
const { telemetry } = traced;

const queues = new Map();
const workers = new Map();
const repeatables = new Map();
const putBack = new Set();
let flows;

function connectionOf(text) {
  const url = new URL(text);
  const login = { username: decodeURIComponent(url.username) || undefined, password: decodeURIComponent(url.password) || undefined };
  if (url.protocol === "unix:") return { path: decodeURIComponent(url.pathname), ...login };
  const db = Number(url.pathname.slice(1) || 0);
  const tls = url.protocol === "rediss:" ? {} : undefined;
  return { host: url.hostname, port: Number(url.port || 6379), db, tls, ...login };
}

/** Loaded only when asked for, so that what runs untraced needs none of OpenTelemetry. */
async function tracedTo(endpoint) {
  if (!endpoint) return { telemetry: undefined, close: async () => {} };
  return (await import("./telemetry.mjs")).telemetryTo(endpoint);
}

/** The cached value of a map; an emitter's errors go to standard error, not up. */
function cached(map, key, make) {
  if (!map.has(key)) map.set(key, quiet(make()));
  return map.get(key);
}

function quiet(emitter) {
  emitter.on("error", (error) => console.error(error.message));
  return emitter;
}

function queueOf({ queue, prefix = defaultPrefix }) {
  if (!queue) throw new Error("a request needs its queue");
  return cached(queues, JSON.stringify([prefix, queue]), () => new bullmq.Queue(queue, { connection, prefix, telemetry }));
}

async function jobOf(request) {
  const job = await bullmq.Job.fromId(queueOf(request), request.jobId);
  if (!job) throw new Error(`no job ${request.jobId}`);
  return job;
}

/** Call a method that not every version has. */
async function call(target, method, ...args) {
  if (typeof target[method] !== "function") throw new Error("unsupported");
  return target[method](...args);
}

function setOrRemove(queue, what, value, ...rest) {
  return value == null ? call(queue, `remove${what}`) : call(queue, `set${what}`, value, ...rest);
}

function flowIds({ job, children }) {
  return { jobId: job.id, queue: job.queueName, children: (children ?? []).map(flowIds) };
}

function withPrefix(node, prefix) {
  return { prefix, ...node, children: node.children?.map((child) => withPrefix(child, prefix)) };
}

async function addFlow({ flow, prefix = defaultPrefix }) {
  flows ??= quiet(new bullmq.FlowProducer({ connection, prefix: defaultPrefix, telemetry }));
  return { flow: flowIds(await flows.add(withPrefix(flow, prefix))) };
}

async function upsertScheduler(request) {
  const { scheduler, repeat, name = scheduler, data = {}, opts = {} } = request;
  const queue = queueOf(request);
  if (queue.upsertJobScheduler) {
    const job = await queue.upsertJobScheduler(scheduler, repeat, { name, data, opts });
    return { jobId: job?.id };
  }
  const job = await queue.add(name, data, { ...opts, repeat, jobId: scheduler });
  repeatables.set(`${request.queue} ${scheduler}`, { name, repeat });
  return { jobId: job?.id };
}

async function removeScheduler(request) {
  const queue = queueOf(request);
  if (queue.removeJobScheduler) return { removed: await queue.removeJobScheduler(request.scheduler) };
  const known = repeatables.get(`${request.queue} ${request.scheduler}`);
  if (!known) throw new Error(`no scheduler ${request.scheduler}`);
  return { removed: await queue.removeRepeatable(known.name, known.repeat, request.scheduler) };
}

/** How many attempts of a job have failed; BullMQ up to 4 counts an attempt when it starts. */
function attemptsFailed(job) {
  return major <= 4 ? job.attemptsMade - 1 : job.attemptsMade;
}

async function behave(behaviour, job, token) {
  if (behaviour.delay && !putBack.has(job.id)) {
    putBack.add(job.id);
    await job.moveToDelayed(Date.now() + behaviour.delay, token);
    throw new bullmq.DelayedError();
  }
  if (behaviour.sleep) await sleep(behaviour.sleep);
  if (behaviour.hang) await new Promise(() => {});
  if (behaviour.unrecoverable) throw new bullmq.UnrecoverableError("told to fail for good");
  if (behaviour.fail === true || attemptsFailed(job) < (behaviour.fail ?? 0)) throw new Error("told to fail");
  return behaviour.result ?? null;
}

async function work({ worker, queue, prefix = defaultPrefix, concurrency = 1, script = {}, options = {} }) {
  const run = (job, token) => behave(job.data?.behaviour ?? script[job.name] ?? script["*"] ?? {}, job, token);
  const made = quiet(new bullmq.Worker(queue, run, { connection, prefix, concurrency, telemetry, ...options }));
  const errors = [];
  made.on("error", (error) => errors.push(error.message));
  workers.set(worker, { made, errors });
  await made.waitUntilReady();
  return {};
}

function workerOf({ worker }) {
  const found = workers.get(worker);
  if (!found) throw new Error(`no worker ${worker}`);
  return found;
}

async function stopWorker(request) {
  const { made } = workerOf(request);
  await made.close(request.force ?? false);
  workers.delete(request.worker);
  return {};
}

const operations = {
  about: async () => ({ library: "bullmq", version, language: "node" }),
  add: async (r) => ({ jobId: (await queueOf(r).add(r.name, r.data ?? {}, r.opts ?? {})).id }),
  addBulk: async (r) => ({ jobIds: (await queueOf(r).addBulk(r.jobs)).map((job) => job.id) }),
  addFlow,
  upsertScheduler,
  removeScheduler,
  pause: async (r) => void (await queueOf(r).pause()),
  resume: async (r) => void (await queueOf(r).resume()),
  drain: async (r) => void (await queueOf(r).drain(r.delayed ?? false)),
  clean: async (r) => ({ jobIds: await queueOf(r).clean(r.grace ?? 0, r.limit ?? 1000, r.state) }),
  obliterate: async (r) => void (await queueOf(r).obliterate({ force: r.force ?? false })),
  remove: async (r) => ({ removed: await queueOf(r).remove(r.jobId) }),
  promote: async (r) => void (await (await jobOf(r)).promote()),
  retry: async (r) => void (await (await jobOf(r)).retry(r.state ?? "failed")),
  changePriority: async (r) => void (await call(await jobOf(r), "changePriority", { priority: r.priority, lifo: r.lifo })),
  rateLimit: async (r) => void (await call(queueOf(r), "rateLimit", r.ms)),
  setGlobalConcurrency: async (r) => void (await setOrRemove(queueOf(r), "GlobalConcurrency", r.concurrency)),
  setGlobalRateLimit: async (r) => void (await setOrRemove(queueOf(r), "GlobalRateLimit", r.max, r.duration)),
  getJobCounts: async (r) => ({ counts: await queueOf(r).getJobCounts() }),
  getJobState: async (r) => ({ state: await queueOf(r).getJobState(r.jobId) }),
  metrics: async (r) => ({ text: await call(queueOf(r), "exportPrometheusMetrics") }),
  work,
  stopWorker,
  failures: async (r) => ({ errors: workerOf(r).errors }),
};

/** Whether an error leaves open what the server did: it is the connection's, not a reply or a refusal of the library. */
function isUnknown(error) {
  const text = `${error.name} ${error.code ?? ""} ${error.message}`;
  return /ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|Connection is closed|MaxRetriesPerRequest|Stream isn't writeable|no answer in/.test(text);
}

async function answer(request) {
  const operation = operations[request.op];
  if (!operation) throw new Error(`unknown operation ${request.op}`);
  if (!request.timeoutMs) return operation(request);
  const timer = new AbortController();
  const late = sleep(request.timeoutMs, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`no answer in ${request.timeoutMs} ms`);
  });
  late.catch(() => {});
  return Promise.race([operation(request), late]).finally(() => timer.abort());
}

async function handle(line) {
  let request = {};
  let reply;
  try {
    request = JSON.parse(line);
    reply = { type: "ok", ...(await answer(request)) };
  } catch (error) {
    reply = { type: isUnknown(error) ? "info" : "fail", error: error.message };
  }
  process.stdout.write(`${JSON.stringify({ id: request.id ?? null, ...reply })}\n`);
}

async function close() {
  const closing = [...workers.values()].map(({ made }) => made.close(true));
  closing.push(...[...queues.values(), ...(flows ? [flows] : [])].map((part) => part.close()));
  await Promise.race([Promise.allSettled(closing).then(() => traced.close()), sleep(2000)]);
  process.exit(0);
}

createInterface({ input: process.stdin }).on("line", handle).on("close", close);
