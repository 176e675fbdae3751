"""Workers counted from CLIENT LIST, in every situation in which real ones were seen."""

from __future__ import annotations

from base64 import b64encode

import pytest

from qobserve.model.clients import WorkerNames
from qobserve.model.keys import QueueId

ORDERS = QueueId(b"bull", b"orders")
MAIL = QueueId(b"a:b", "日本".encode())
NODE_ORDERS = "bull:b3JkZXJz"
NODE_MAIL = "a:b:5pel5pys"
PYTHON_ORDERS = "bull:orders"

LINE = (
    "id={number} addr=127.0.0.1:4242 laddr=127.0.0.1:6379 fd=9 name={name} age=3 idle=0 flags={flags} "
    "db={database} sub=0 psub=0 multi=-1 qbuf=26 qbuf-free=20448 argv-mem=10 obl=0 oll=0 omem=0 tot-mem=22298 events=r "
    "cmd={command} user=default redir=-1 resp=2 lib-name=redis-py lib-ver=8.1.0\n"
)


def listing(*connections: tuple[str, str], database: int = 0) -> bytes:
    """CLIENT LIST of connections to one database, given by name and command."""
    return "".join(
        LINE.format(
            number=number,
            name=name,
            flags="b" if command == "bzpopmin" else "N",
            database=database,
            command=command,
        )
        for number, (name, command) in enumerate(connections, 1)
    ).encode()


def orders(*connections: tuple[str, str]) -> int:
    """Workers of one queue."""
    return WorkerNames([ORDERS]).count(listing(*connections), 0)[ORDERS]


@pytest.mark.parametrize("name", [PYTHON_ORDERS, f"{PYTHON_ORDERS}:w:first", f"{PYTHON_ORDERS}:w:a:w:b"])
@pytest.mark.parametrize(
    ("commands", "workers"),
    [
        pytest.param(["evalsha", "bzpopmin"], 1, id="idle, paused, or busy with room"),
        pytest.param(["evalsha", "client|setname"], 1, id="all busy from the start"),
        pytest.param(["evalsha", "client"], 1, id="all busy from the start, Redis 6.2"),
        pytest.param(["evalsha"], 1, id="paused by itself, or between two blocking connections"),
        pytest.param(["bzpopmin"], 1, id="main connection not seen"),
        pytest.param([], 0, id="closed or killed"),
        pytest.param(["evalsha", "bzpopmin"] * 2, 2, id="two idle"),
        pytest.param(["evalsha", "evalsha"], 2, id="two between two blocking connections"),
        pytest.param(["evalsha", "bzpopmin", "evalsha"], 2, id="two, one of them between"),
        pytest.param(["rpush", "bzpopmin"], 1, id="writes a log line"),
        pytest.param(["hgetall", "client|setname"], 1, id="reads a job"),
        pytest.param(["exec", "hello"], 1, id="in its handshake"),
        pytest.param(["evalsha", "client|setinfo"], 1, id="introduces itself"),
        pytest.param(["evalsha", "info"], 1, id="asks for the server's version"),
        pytest.param(["evalsha", "brpoplpush"], 1, id="a port of 4.x"),
    ],
)
def test_python_workers(name: str, commands: list[str], workers: int) -> None:
    assert orders(*((name, command) for command in commands)) == workers


def test_python_workers_with_names_of_their_own_are_counted_each_by_itself() -> None:
    first, second = f"{PYTHON_ORDERS}:w:first", f"{PYTHON_ORDERS}:w:second"

    assert orders((first, "evalsha"), (second, "bzpopmin"), (PYTHON_ORDERS, "evalsha")) == 3


@pytest.mark.parametrize("name", [NODE_ORDERS, f"{NODE_ORDERS}:w:first", f"{NODE_ORDERS}:w:a:b:w:c"])
@pytest.mark.parametrize("command", ["bzpopmin", "brpoplpush", "evalsha", "client|setname"])
def test_each_named_connection_of_node_is_a_worker(name: str, command: str) -> None:
    assert orders((name, command), (name, command)) == 2


@pytest.mark.parametrize(
    "name",
    [
        "",
        f"{NODE_ORDERS}:qe",  # QueueEvents
        f"{NODE_ORDERS}:qs",  # the QueueScheduler of 1.x
        "bull:b3JkZXJzMg==",  # orders2
        "bull:orders2",
        "bullet:orders",
        "orders",
        "qobserve",
        f"x{NODE_ORDERS}",
    ],
)
def test_other_connections_are_no_workers(name: str) -> None:
    assert orders((name, "bzpopmin"), (name, "evalsha")) == 0


def test_each_queue_has_its_own_workers_and_one_without_has_none() -> None:
    idle = QueueId(b"bull", b"idle")
    found = WorkerNames([ORDERS, MAIL, idle]).count(
        listing(
            (NODE_ORDERS, "bzpopmin"),
            (f"{NODE_MAIL}:w:日", "bzpopmin"),
            (NODE_MAIL, "bzpopmin"),
            (PYTHON_ORDERS, "evalsha"),
            (PYTHON_ORDERS, "bzpopmin"),
            ("bull:c29tZSBvdGhlcg==", "bzpopmin"),
        ),
        0,
    )

    assert {queue: found[queue] for queue in (ORDERS, MAIL, idle)} == {ORDERS: 2, MAIL: 2, idle: 0}


def test_queues_of_the_same_name_under_two_prefixes_are_told_apart() -> None:
    other = QueueId(b"{bull}", b"orders")

    assert WorkerNames([ORDERS, other]).count(listing(("{bull}:b3JkZXJz", "bzpopmin")), 0) == {other: 1}


def test_a_queue_whose_name_looks_like_a_workers_is_the_longer_match() -> None:
    odd = QueueId(b"bull", b"orders:w:first")

    assert WorkerNames([ORDERS, odd]).count(listing(("bull:orders:w:first", "evalsha")), 0) == {odd: 1}


@pytest.mark.parametrize("raw", [b"", b"\n\n", b"junk\n\xff\xfe", b"id=1 name=\n", b"id=1 addr=x"])
def test_what_is_no_listing_has_no_workers(raw: bytes) -> None:
    assert WorkerNames([ORDERS]).count(raw, 0) == {}


@pytest.mark.parametrize(("database", "workers"), [(1, {ORDERS: 2}), (0, {ORDERS: 1}), (11, {ORDERS: 1}), (2, {})])
def test_workers_of_another_database_serve_other_queues(database: int, workers: dict[QueueId, int]) -> None:
    everywhere = (
        listing((NODE_ORDERS, "bzpopmin"), (PYTHON_ORDERS, "evalsha"), database=1)
        + listing((NODE_ORDERS, "bzpopmin"), database=0)
        + listing((NODE_ORDERS, "bzpopmin"), database=11)
    )

    assert WorkerNames([ORDERS]).count(everywhere, database) == workers


@pytest.mark.parametrize(
    ("prefix", "name"),
    [("bull:eu", "mail"), ("bull", "eu:mail")],
    ids=["the prefix holds a colon", "the name holds one"],
)
def test_a_worker_is_found_however_the_colons_part_prefix_and_name(prefix: str, name: str) -> None:
    known_as = QueueId(b"bull:eu", b"mail")
    worker = f"{prefix}:{b64encode(name.encode()).decode()}"

    assert WorkerNames([known_as]).count(listing((worker, "bzpopmin"), (f"{worker}:w:a", "bzpopmin")), 0) == {
        known_as: 2
    }


def test_a_queue_that_is_called_so_comes_before_one_that_may_be() -> None:
    maybe, surely = QueueId(b"bull:eu", b"mail"), QueueId(b"bull", b"eu:mail")
    worker = listing(("bull:ZXU6bWFpbA==", "bzpopmin"))

    assert WorkerNames([maybe, surely]).count(worker, 0) == {surely: 1}
    assert WorkerNames([surely, maybe]).count(worker, 0) == {surely: 1}
