"""The drivers keep their protocol: ok, fail and info mean what they say, in each version."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rig.child import RigTimeoutError, wait_until
from rig.drivers import DRIVERS, driving, version_of
from rig.servers import DEFAULT_KIND, running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rig.drivers import Driver, Json
    from rig.servers import Server

LACKING = {
    "node-3.16.2": {"rateLimit", "setGlobalConcurrency", "setGlobalRateLimit", "metrics"},
    "node-4.18.3": {"rateLimit", "setGlobalConcurrency", "setGlobalRateLimit", "metrics"},
    "node-5.81.5": set(),
    "node-6.7.0": set(),
    "python-3.4.4": {"metrics"},
}


@pytest.fixture(params=DRIVERS)
def driver_name(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module", params=DRIVERS)
def shared(request: pytest.FixtureRequest, servers: Callable[[str], Server]) -> Iterator[Driver]:
    """One driver of each version for all tests that leave it as it was; each has a queue of its own."""
    with driving(request.param, servers(DEFAULT_KIND)) as driver:
        yield driver


def test_a_driver_is_the_version_it_is_called(shared: Driver) -> None:
    about = shared.call("about")

    assert (about["language"], about["version"]) == (shared.version.language, shared.version.number)


def test_operations_that_a_version_lacks(shared: Driver) -> None:
    requests: dict[str, dict[str, Json]] = {
        "rateLimit": {"ms": 10},
        "setGlobalConcurrency": {"concurrency": 2},
        "setGlobalRateLimit": {"max": 2, "duration": 1000},
        "metrics": {},
    }
    answers = {op: shared.wait(shared.send(op, queue="limits", **fields)) for op, fields in requests.items()}
    lacking = {op for op, answer in answers.items() if answer.get("error") == "unsupported"}

    assert {op for op, answer in answers.items() if answer["type"] != "ok"} == lacking
    assert lacking == LACKING[shared.name]


def test_what_is_refused_fails(shared: Driver) -> None:
    job = shared.call("add", queue="refused", name="job")["jobId"]
    refused = [
        shared.wait(shared.send("retry", queue="refused", jobId=job)),
        shared.wait(shared.send("promote", queue="refused", jobId="nobody")),
        shared.wait(shared.send("no such thing")),
    ]

    assert [answer["type"] for answer in refused] == ["fail", "fail", "fail"]
    assert [bool(answer["error"]) for answer in refused] == [True, True, True]


def test_what_may_have_happened_is_info(driver_name: str) -> None:
    with running() as server, driving(driver_name, server) as driver:
        driver.call("add", queue="q", name="job")
        server.freeze()
        answer = driver.wait(driver.send("add", queue="q", name="job", timeoutMs=300))
        server.thaw()
        with server.client() as client:
            wait_until(lambda: client.llen("bull:q:wait") == 2, "the add of unknown outcome to have been applied")

    assert answer["type"] == "info"


def test_prefixes_of_the_driver_and_of_a_request(driver_name: str, server: Server) -> None:
    with driving(driver_name, server, prefix="own") as driver, server.client() as client:
        driver.call("add", queue="q", name="job")
        driver.call("add", queue="q", name="job", prefix="a:b")

        assert (client.llen("own:q:wait"), client.llen("a:b:q:wait")) == (1, 1)


async def test_asynchronous_calls_answer_in_any_order(server: Server) -> None:
    with driving("node-6.7.0", server) as driver:
        first, second = driver.send("add", queue="q", name="a"), driver.send("add", queue="q", name="b")
        last = await driver.acall("add", queue="q", name="c")

        assert last["jobId"] == "3"
        assert (driver.wait(second)["jobId"], driver.wait(first)["jobId"]) == ("2", "1")


def test_a_driver_that_died_says_so_at_once(server: Server) -> None:
    with driving("python-3.4.4", server) as driver:
        driver.child.signal(9)
        with pytest.raises(RigTimeoutError, match=r"driver python-3\.4\.4, add: it died"):
            driver.call("add", queue="q", name="job", timeout=10)


def test_a_driver_ends_when_its_input_ends(driver_name: str, server: Server) -> None:
    with driving(driver_name, server) as driver:
        driver.call("work", queue="q", worker="w", script={"*": {"hang": True}})
        driver.call("add", queue="q", name="job")
        driver.child.stdin.close()
        wait_until(lambda: not driver.child.running, "the driver to end")

        assert driver.child.process.returncode == 0


def test_names_are_taken_apart() -> None:
    assert [(version_of(name).language, version_of(name).major) for name in DRIVERS] == [
        ("node", 3),
        ("node", 4),
        ("node", 5),
        ("node", 6),
        ("python", 3),
    ]


def test_a_job_can_put_itself_off_and_fail_a_number_of_times(shared: Driver) -> None:
    script: Json = {"later": {"delay": 60_000}, "twice": {"fail": 2, "result": 7}}
    shared.call("work", queue="script", worker="w", script=script, concurrency=2)
    jobs = [shared.call("add", queue="script", name=name, opts={"attempts": 3})["jobId"] for name in ("later", "twice")]

    def states() -> list[Json]:
        return [shared.call("getJobState", queue="script", jobId=job)["state"] for job in jobs]

    wait_until(lambda: states() == ["delayed", "completed"], "one job to be put off and the other to end well")
    shared.call("stopWorker", worker="w")
