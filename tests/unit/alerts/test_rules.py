"""All rules: what each of them has to have."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from repo.tree import ROOT

from qobserve.alerts.promql import duration
from qobserve.alerts.rule import Alert, Board, Record, Severity
from qobserve.metrics import COLLECTORS
from qobserve.metrics.exporter import OF_SCRAPE

if TYPE_CHECKING:
    from qobserve.alerts.rule import Group

FAMILIES = {f.name: f for f in (*OF_SCRAPE, *(f for one in COLLECTORS for f in one.families))}
SERIES = FAMILIES.keys() | {f"{name}_{end}" for name in FAMILIES for end in ("bucket", "count", "sum")}
RECORDED = re.compile(r"\bqueue:\w+:\w+")


def test_names_begin_alike_and_groups_are_told_apart(
    all_groups: tuple[Group, ...], all_alerts: dict[str, Alert]
) -> None:
    assert [name for name in all_alerts if not re.fullmatch(r"BullMQ[A-Z]\w+", name)] == []
    assert len({group.name for group in all_groups}) == len(all_groups)


def test_every_series_is_one_of_the_exporter(all_groups: tuple[Group, ...]) -> None:
    exprs = [rule.expr for group in all_groups for rule in group.rules]
    used = {name for expr in exprs for name in re.findall(r"\bbullmq_\w+", RECORDED.sub("", expr))}
    assert len(used) > 25
    assert used <= SERIES


def test_what_is_recorded_is_recorded_before_it_is_used(all_groups: tuple[Group, ...]) -> None:
    known: set[str] = set()
    for group in all_groups:
        for rule in group.rules:
            used = set(RECORDED.findall(rule.expr))
            if isinstance(rule, Alert):
                used |= set(RECORDED.findall(rule.summary + rule.description))
            assert used <= known, rule.name
            if isinstance(rule, Record):
                known.add(rule.name)


def test_symptoms_page_and_causes_are_tickets(all_alerts: dict[str, Alert]) -> None:
    pages = {name for name, alert in all_alerts.items() if alert.severity is Severity.CRITICAL}
    assert pages == {
        "BullMQDelayedJobsOverdue",
        "BullMQExporterAbsent",
        "BullMQExporterDown",
        "BullMQFailureRatioHigh",
        "BullMQJobWaitTooLong",
        "BullMQQueueStuck",
        "BullMQRedisEvictsKeys",
        "BullMQRedisUnreachable",
        "BullMQWaitBudgetBurnsFast",
    }


def test_texts_are_sentences_and_descriptions_show_the_value(all_alerts: dict[str, Alert]) -> None:
    for alert in all_alerts.values():
        assert alert.summary.endswith("."), alert.name
        assert alert.description.endswith("."), alert.name
        assert re.search(r"\{\{ \$value \| humanize\w* \}\}", alert.description), alert.name
        of_queue = "$labels.queue" in alert.summary
        assert of_queue == (alert.board is Board.QUEUE), alert.name


def test_an_alert_on_a_queue_keeps_the_labels_that_its_link_needs(all_alerts: dict[str, Alert]) -> None:
    for alert in all_alerts.values():
        if alert.board is Board.QUEUE:
            first = re.findall(r"\b(?:queue:)?bullmq_\w+", alert.expr)[0]
            family = FAMILIES.get(re.sub(r"_(bucket|count|sum)$", "", first))
            assert family is None or {"prefix", "queue"} <= set(family.labels), alert.name
            assert not re.search(r"\bby \(|without \([^)]*(prefix|queue)", alert.expr), alert.name


def test_the_dashboards_that_are_linked_exist_with_their_variables() -> None:
    boards = [json.loads(path.read_text()) for path in (ROOT / "dashboards/json").glob("*.json")]
    variables = {board["uid"]: {each["name"] for each in board["templating"]["list"]} for board in boards}
    assert variables.keys() >= set(Board)
    assert variables[Board.QUEUE] >= {"prefix", "queue", "target"}


def test_times_can_be_written_by_a_person(all_alerts: dict[str, Alert]) -> None:
    assert {duration(alert.hold) for alert in all_alerts.values() if alert.hold} <= {
        *("1m", "2m", "3m", "5m", "10m", "15m", "1h")
    }
