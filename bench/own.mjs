/**
 * BullMQ's own `exportPrometheusMetrics` over all queues, open on one shared connection; one run for each line of input.
 *
 *     node own.mjs PORT
 *
 *     -> a JSON list of queue names (once)      <- {"queues": 1000}
 *     -> concurrently, or: one by one          <- {"seconds": 0.1, "series": 9000, "bytes": 500000}
 */

import { once } from "node:events";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const load = createRequire(new URL("../chaos/worker/", import.meta.url));
const { Queue } = load("bullmq-6.7.0");
const IORedis = load("ioredis");

const connection = new IORedis({ host: "127.0.0.1", port: Number(process.argv[2]), maxRetriesPerRequest: null });
connection.setMaxListeners(0);
let queues;

async function oneByOne() {
  const texts = [];
  for (const queue of queues) texts.push(await queue.exportPrometheusMetrics());
  return texts.join("\n");
}

async function concurrently() {
  return (await Promise.all(queues.map((queue) => queue.exportPrometheusMetrics()))).join("\n");
}

async function open(names) {
  queues = names.map((name) => new Queue(name, { connection, skipMetasUpdate: true }));
  await Promise.all(queues.map((queue) => queue.waitUntilReady()));
  return { queues: queues.length };
}

async function run(way) {
  const began = performance.now();
  const text = await (way === "concurrently" ? concurrently() : oneByOne());
  const seconds = (performance.now() - began) / 1000;
  const series = text.split("\n").filter((line) => line && !line.startsWith("#")).length;
  return { seconds, series, bytes: Buffer.byteLength(text) };
}

const lines = createInterface({ input: process.stdin });
lines.on("line", async (line) => {
  const answer = queues ? await run(line) : await open(JSON.parse(line));
  process.stdout.write(`${JSON.stringify(answer)}\n`);
});
await once(lines, "close");
process.exit(0);
