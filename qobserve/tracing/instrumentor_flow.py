"""Flows on their way into their queues: each node travels with a context of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from opentelemetry.trace import SpanKind

from qobserve.tracing.instrumentor_context import options, stamped
from qobserve.tracing.instrumentor_publication import Batch, Message
from qobserve.tracing.instrumentor_shield import shielded
from qobserve.tracing.instrumentor_spans import Operation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from opentelemetry.context import Context

    from qobserve.tracing.instrumentor_call import Call
    from qobserve.tracing.instrumentor_publication import Publication
    from qobserve.tracing.instrumentor_spans import Spans


class FlowPublisher:
    """Traces `FlowProducer.add` and `FlowProducer.addBulk`."""

    def __init__(self, spans: Spans, *, create_spans: bool) -> None:
        self._spans = spans
        self._create_spans = create_spans

    async def add(self, call: Call) -> object:
        """One flow."""
        queues_options = options(options(call.argument("opts")).get("queuesOptions"))
        publication = self._flows(call, "addFlow", [call.argument("flow")], queues_options)
        return await (publication.around(call.make, lambda tree: _jobs([tree])) if publication else call.make())

    async def add_bulk(self, call: Call) -> object:
        """Several flows."""
        flows: Sequence[object] = list(call.argument("flows"))  # type: ignore[call-overload]  # fails as it would there
        call.give("flows", flows)
        publication = self._flows(call, "addBulkFlows", flows, {})
        return await (publication.around(call.make, _jobs) if publication else call.make())

    @shielded
    def _flows(
        self, call: Call, name: str, flows: Sequence[object], queues_options: Mapping[str, object]
    ) -> Publication | None:
        if getattr(call.instance, "closing", False):  # nothing will be added
            return None
        queues = {str(options(flow).get("queueName")) for flow in flows}
        count = sum(map(_count, flows))
        operation = Operation(
            name=name,
            type="send",
            kind=SpanKind.CLIENT if self._create_spans else SpanKind.PRODUCER,
            queue=queues.pop() if len(queues) == 1 else None,
            owner=call.instance,
            attributes={"messaging.batch.message_count": count, "bullmq.flow.name": _name(flows)},
        )
        batch = Batch(spans=self._spans, operation=operation, create_spans=self._create_spans)
        batch.begin()
        nodes = _Walk(batch, call.instance, queues_options)
        copies = [nodes.walk(flow, None, root=True) for flow in flows]
        if name == "addFlow":
            call.give("flow", copies[0])
        else:
            call.give("flows", copies)
        return batch.publication()


class _Walk:
    """From a flow's root to its leaves, in BullMQ's own order."""

    def __init__(self, batch: Batch, producer: object, queues_options: Mapping[str, object]) -> None:
        self._batch = batch
        self._producer = producer
        self._queues_options = queues_options

    def walk(self, node: object, within: Context | None, *, root: bool = False) -> object:
        """A copy of a node and of all below it, with contexts."""
        fields = options(node)
        own = fields.get("opts")
        headers, below = self._batch.stamp(self._message(fields, options(own), within))
        copy = dict(fields)
        if headers and not (root and "opts" in fields and own is None):  # BullMQ refuses that, and is to go on so
            copy["opts"] = stamped(own, headers)
        if children := _children(node):
            copy["children"] = [self.walk(child, below) for child in children]
        return copy if isinstance(node, Mapping) else node

    def _message(self, fields: Mapping[str, object], own: Mapping[str, object], within: Context | None) -> Message:
        queue = str(fields.get("queueName"))
        defaults = options(options(self._queues_options.get(queue)).get("defaultJobOptions"))
        return Message(
            owner=self._producer,
            queue=queue,
            name=fields.get("name"),
            opts={**defaults, **own},
            prefix=fields.get("prefix"),
            within=within,
        )


def _children(node: object) -> Sequence[object]:
    children = options(node).get("children")
    return children if isinstance(children, list | tuple) else ()


def _count(node: object) -> int:
    return 1 + sum(map(_count, _children(node)))


def _name(flows: Sequence[object]) -> str | None:
    names = [options(flow).get("name") for flow in flows]
    return str(names[0]) if len(names) == 1 else None


def _jobs(trees: object) -> Iterator[object]:
    """The jobs of what BullMQ answered, in the order in which the nodes were walked; None when it was closing."""
    for tree in trees if isinstance(trees, list) else ():
        fields = options(tree)
        if "job" in fields:
            yield fields["job"]
        yield from _jobs(fields.get("children"))
