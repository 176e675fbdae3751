/**
 * BullMQ's own `QueueEvents` on some queues: how many events it hears of, and what its process needs for them.
 *
 *     node listener.mjs PORT
 *
 *     -> a JSON list of queue names (once)      <- {"queues": 4}
 *     -> any line                               <- {"events": 84404, "cpuSeconds": 3.1, "bytes": 90000000}
 *
 * Events are counted from the beginning of each stream; the processor time is that since all queues were connected.
 */

import { once } from "node:events";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const load = createRequire(new URL("../chaos/worker/", import.meta.url));
const { QueueEvents } = load("bullmq-6.7.0");
const NAMES = [
  ...["added", "waiting", "active", "completed", "failed", "delayed", "stalled", "drained", "progress", "removed", "cleaned"],
  ...["paused", "resumed", "waiting-children", "retries-exhausted", "duplicated", "deduplicated"],
];

const connection = { host: "127.0.0.1", port: Number(process.argv[2]) };
let listeners;
let heard = 0;
let begin;

async function open(names) {
  listeners = names.map((name) => new QueueEvents(name, { connection, lastEventId: "0", autorun: false }));
  for (const one of listeners) for (const name of NAMES) one.on(name, () => (heard += 1));
  await Promise.all(listeners.map((one) => one.waitUntilReady()));
  begin = process.cpuUsage();
  for (const one of listeners) one.run().catch((error) => console.error(error.message));
  return { queues: listeners.length };
}

function spent() {
  const { user, system } = process.cpuUsage(begin);
  return { events: heard, cpuSeconds: (user + system) / 1e6, bytes: process.memoryUsage.rss() };
}

const lines = createInterface({ input: process.stdin });
lines.on("line", async (line) => {
  const answer = listeners ? spent() : await open(JSON.parse(line));
  process.stdout.write(`${JSON.stringify(answer)}\n`);
});
await once(lines, "close");
process.exit(0);
