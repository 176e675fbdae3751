"""A Redis Cluster: every queue by the node that holds it, whatever happens to the nodes."""

from __future__ import annotations

import contextlib
import shutil
from functools import partial
from typing import TYPE_CHECKING

import pytest
import redis
from redis.crc import key_slot
from rig.child import Child, wait_until
from rig.cluster import cluster
from rig.drivers import FOLDER
from rig.log import failed_collectors, logged, up
from rig.plain import role, waiting, write_queue
from rig.programs import missing
from rig.scrape import exporting, key, once, parse
from rig.servers import ServerOptions, running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rig.scrape import Exporter
    from rig.servers import Server

QUEUES = {f"{{p{number}}}:mail": number + 1 for number in range(6)} | {
    f"bull:{{q{number}}}": number + 10 for number in range(6)
}
FAST = ("--discovery.interval", "500ms")

NODE_PROGRAM = """
const load = require("node:module").createRequire(process.argv[1] + "/driver.mjs");
const { Queue, Worker } = load("bullmq-6.7.0");
const { Cluster } = load("ioredis");
const connection = new Cluster([{ host: "127.0.0.1", port: Number(process.argv[2]) }], {
  redisOptions: { maxRetriesPerRequest: null },
});
(async () => {
  const queue = new Queue("{node}", { connection });
  for (let job = 0; job < 7; job++) await queue.add("job", {}, job < 3 ? { delay: 3600000 } : {});
  const worker = new Worker("{node}", async () => {}, { connection });
  await new Promise((done) => worker.on("drained", done));
  console.log("ready");
})();
"""


@contextlib.contextmanager
def connected(node: Server) -> Iterator[redis.RedisCluster]:
    """A client to all nodes."""
    with redis.RedisCluster(host="127.0.0.1", port=node.port) as client:
        yield client


def write_all(node: Server) -> None:
    with connected(node) as client:
        for name, jobs in QUEUES.items():
            prefix, _, queue = name.partition(":")
            write_queue(client, queue, prefix=prefix, waiting=jobs)


def slot(name: str) -> int:
    """The slot of a queue given as `prefix:name`."""
    return key_slot(f"{name}:".encode())


def holder(nodes: list[Server], name: str) -> int:
    """Which node got this queue's slot when the cluster was made."""
    return next(index for index in range(len(nodes)) if slot(name) < 16_384 * (index + 1) // len(nodes))


def flags(node: Server) -> tuple[str, ...]:
    return ("--redis.url", node.url, "--redis.cluster", *FAST)


@pytest.fixture(scope="module")
def nodes() -> Iterator[list[Server]]:
    with cluster() as nodes:
        write_all(nodes[0])
        yield nodes


@pytest.fixture(scope="module")
def exporter(nodes: list[Server]) -> Iterator[Exporter]:
    with exporting(*flags(nodes[0]), "--redis.timeout", "1500ms") as exporter:
        yield exporter


def test_the_queues_of_all_nodes(nodes: list[Server], exporter: Exporter) -> None:
    samples = exporter.samples()

    assert {holder(nodes, name) for name in QUEUES} == {0, 1, 2}, "a node without a queue proves nothing"
    assert waiting(samples) == QUEUES
    assert (up(samples), samples[key("bullmq_queues")]) == (1, len(QUEUES))


def test_the_facts_of_the_nodes_are_one_series_each(exporter: Exporter) -> None:
    samples = exporter.samples()
    redis_families = [name for name, _ in samples if name.startswith("bullmq_redis_")]

    assert role(samples) == "master"
    assert sorted(redis_families) == sorted(set(redis_families))


def test_real_bullmq(nodes: list[Server], exporter: Exporter) -> None:
    node = shutil.which("node")
    if node is None:
        missing("no node on PATH: it runs BullMQ's own library")
    child = Child([node, "-e", NODE_PROGRAM, str(FOLDER), str(nodes[1].port)], cwd=FOLDER)
    try:
        wait_until(lambda: "ready" in child.log() or not child.running, "BullMQ to be done", timeout=20)
        assert child.running, child.log()
        completed = key("bullmq_queue_jobs", prefix="bull", queue="{node}", state="completed")
        wait_until(lambda: exporter.samples().get(completed) == 4, "the queue to be shown")
        samples = exporter.samples()
    finally:
        child.kill()

    assert samples[key("bullmq_queue_jobs", prefix="bull", queue="{node}", state="delayed")] == 3
    assert samples[key("bullmq_queue_workers", prefix="bull", queue="{node}")] == 1
    with connected(nodes[0]) as client:
        client.delete(*client.scan_iter("bull:{node}:*"))
    wait_until(lambda: waiting(exporter.samples()) == QUEUES, "the queue to be dropped")


def test_a_slot_that_moves(nodes: list[Server], exporter: Exporter) -> None:
    name = "bull:{q1}"
    source, target = nodes[holder(nodes, name)], nodes[holder(nodes, name) - 1]
    others = {other: jobs for other, jobs in QUEUES.items() if slot(other) != slot(name)}
    assert waiting(exporter.samples()) == QUEUES

    start_move(slot(name), source, target)
    midway = waiting(exporter.samples())
    end_move(slot(name), target, nodes)
    after = exporter.samples()
    assert {other: jobs for other, jobs in midway.items() if other != name} == others
    assert midway.get(name) is None, "while its keys are on the way a queue is unknown, not empty"
    assert (up(after), waiting(after), failed_collectors(after)) == (1, QUEUES, set())

    start_move(slot(name), target, source)
    end_move(slot(name), source, nodes)
    back = exporter.samples()
    assert (up(back), waiting(back), failed_collectors(back)) == (1, QUEUES, set()), "the same scrape looks again"


def start_move(slot: int, source: Server, target: Server) -> None:
    """Announce it, and hand over all keys."""
    with source.client() as giver, target.client() as taker:
        giver_id, taker_id = (client.execute_command("CLUSTER MYID") for client in (giver, taker))
        taker.execute_command("CLUSTER SETSLOT", slot, "IMPORTING", giver_id)
        giver.execute_command("CLUSTER SETSLOT", slot, "MIGRATING", taker_id)
        keys = giver.execute_command("CLUSTER GETKEYSINSLOT", slot, 100)
        giver.execute_command("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *keys)


def end_move(slot: int, target: Server, nodes: list[Server]) -> None:
    """Tell everybody who has the slot now, the new owner first."""
    with target.client() as taker:
        taker_id = taker.execute_command("CLUSTER MYID")
    for server in (target, *nodes):
        with server.client() as client:
            client.execute_command("CLUSTER SETSLOT", slot, "NODE", taker_id)


def test_a_node_that_hangs(nodes: list[Server], exporter: Exporter) -> None:
    hung = nodes[2]
    before = waiting(exporter.samples())
    hung.freeze()
    try:
        samples = exporter.samples()
    finally:
        hung.thaw()

    assert up(samples) == 0
    assert set(waiting(samples)) < set(before)
    assert waiting(samples) == {name: jobs for name, jobs in before.items() if name in waiting(samples)}
    assert len(waiting(samples)) >= 4
    assert logged(exporter, "redis cannot be read", "reason=timeout", hung.address)
    wait_until(lambda: waiting(exporter.samples()) == before, "the node to be read again")
    assert up(exporter.samples()) == 1


def test_the_node_of_the_url_dies_and_comes_back() -> None:
    with cluster() as nodes:
        write_all(nodes[0])
        alive = {name: jobs for name, jobs in QUEUES.items() if holder(nodes, name) != 0}
        with exporting(*flags(nodes[0])) as exporter:
            assert waiting(exporter.samples()) == QUEUES

            nodes[0].kill()
            samples = [exporter.samples() for _ in range(3)]
            assert [up(each) for each in samples] == [0, 0, 0]
            assert [waiting(each) for each in samples] == [alive, alive, alive]
            assert logged(exporter, "redis cannot be read", "reason=unreachable", nodes[0].address)

            newcomer = next(f"bull:{{n{number}}}" for number in range(99) if holder(nodes, f"bull:{{n{number}}}") == 2)
            with nodes[2].client() as client:
                write_queue(client, newcomer.removeprefix("bull:"), waiting=2)
            found = lambda: waiting(exporter.samples()) == alive | {newcomer: 2}  # noqa: E731 - one expression
            wait_until(found, "a queue on a node that lives to be found")

            nodes[0].start()
            with nodes[0].client() as client:
                wait_until(partial(_is_up, client), "the node to be back", timeout=20)
            write_lost(nodes)
            wait_until(lambda: up(exporter.samples()) == 1, "the cluster to be read again")
            wait_until(lambda: waiting(exporter.samples()) == QUEUES | {newcomer: 2}, "all queues to be back")


def write_lost(nodes: list[Server]) -> None:
    """Write anew what the first node held."""
    with nodes[0].client() as client:
        for name, jobs in QUEUES.items():
            if holder(nodes, name) == 0:
                prefix, _, queue = name.partition(":")
                write_queue(client, queue, prefix=prefix, waiting=jobs)


def _is_up(client: redis.Redis) -> bool:
    facts: dict[str, str] = client.cluster("INFO")
    return facts["cluster_state"] == "ok"


def test_one_node_that_does_not_know_its_own_address() -> None:
    unknown = ServerOptions(config=("cluster-preferred-endpoint-type unknown-endpoint",))
    with cluster(nodes=1, options=unknown) as (node,):
        with node.client() as client:
            write_queue(client, "{mail}", waiting=2)
            ((_, _, (host, *_)),) = client.execute_command("CLUSTER SLOTS")
        told = [once(f"redis://{node.address}{slash}", "--redis.cluster") for slash in ("", "/0")]

    assert not host
    assert [(done.code, done.errors) for done in told] == [(0, "")] * 2
    assert [waiting(parse(done.text)) for done in told] == [{"bull:{mail}": 2}] * 2


def test_replicas_are_read() -> None:
    with cluster(nodes=1) as (primary,), running(options=ServerOptions(cluster=True)) as replica:
        with primary.client(decode_responses=True) as leader, replica.client() as follower:
            follower.execute_command("CLUSTER MEET", "127.0.0.1", primary.port)
            leader_id = leader.execute_command("CLUSTER MYID")
            wait_until(lambda: leader_id in str(follower.execute_command("CLUSTER NODES")), "them to meet")
            wait_until(partial(_is_up, follower), "the newcomer to know the slots", timeout=20)
            follower.execute_command("CLUSTER REPLICATE", leader_id)
            write_queue(leader, "{mail}", waiting=3)
            shown = lambda: len(leader.execute_command("CLUSTER SLOTS")[0]) == 4  # noqa: E731 - one expression
            wait_until(shown, "the replica to be announced", timeout=20)
            synced = lambda: follower.info("replication")["master_link_status"] == "up"  # noqa: E731 - one expression
            wait_until(synced, "the replica to be in sync", timeout=20)
        told = [once(primary.url, "--redis.cluster", "--redis.read-from", where) for where in ("primary", "replica")]

    samples = [parse(done.text) for done in told]
    workers = key("bullmq_queue_workers", prefix="bull", queue="{mail}")
    assert [done.errors for done in told] == ["", ""]
    assert [role(of) for of in samples] == ["master", "slave"]
    assert [waiting(of) for of in samples] == [{"bull:{mail}": 3}] * 2
    assert [workers in of for of in samples] == [True, False]


def test_a_server_that_is_no_cluster(server: Server) -> None:
    done = once(server.url, "--redis.cluster")

    assert (done.code, up(parse(done.text))) == (1, 0)
    assert "cluster support disabled" in done.errors
