"""Names: a queue's base key, the keys under it, and what a key or a client name tells about a queue.

Source of the facts: docs/bullmq-format.md#keys.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from qobserve.model.reply import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qobserve.model.reply import Reply

DEFAULT_PREFIX = "bull"

ANCHORS = (b"meta", b"id")
"""Suffixes by which a queue is found: BullMQ keeps no registry, but a queue that ever held a job has one of them."""

ANCHOR_PATTERN = b"*:[im][de]*"
"""A glob for SCAN that matches every anchor; what else it matches, `queue_of_anchor` refuses."""


@dataclass(frozen=True, slots=True)
class QueueId:
    """A queue, by its prefix and name as Redis holds them (raw bytes: a name may be no UTF-8)."""

    prefix_bytes: bytes
    name_bytes: bytes
    base: bytes = field(init=False, compare=False, repr=False)
    prefix: str = field(init=False, compare=False, repr=False)
    name: str = field(init=False, compare=False, repr=False)
    _hash: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "base", b"%b:%b:" % (self.prefix_bytes, self.name_bytes))
        object.__setattr__(self, "prefix", text(self.prefix_bytes))
        object.__setattr__(self, "name", text(self.name_bytes))
        object.__setattr__(self, "_hash", hash(self.base))

    def __hash__(self) -> int:
        return self._hash  # asked for a dozen times in each look at a queue

    def __str__(self) -> str:
        return f"{self.prefix}:{self.name}"

    def readings(self) -> Iterator[QueueId]:
        """The queues that the same keys would belong to if the name, as before BullMQ 5.12.12, held colons."""
        segments = self.base[:-1].split(b":")
        for names in range(2, len(segments)):
            yield QueueId(b":".join(segments[:-names]), b":".join(segments[-names:]))

    def key(self, suffix: bytes) -> bytes:
        """The key of this queue that ends in `suffix`: a fixed one such as `wait`, or a job's id."""
        return self.base + suffix


def text(raw: bytes) -> str:
    r"""Decode bytes for people: UTF-8, and `\xNN` for what is none, so that nothing is lost and nothing fails."""
    return raw.decode("utf-8", "backslashreplace")


def queue_id(prefix: str, name: str) -> QueueId:
    """A queue named by a person."""
    return QueueId(prefix.encode(), name.encode())


def parse_queue(spec: str) -> QueueId:
    """`prefix:name`, or a bare name under the default prefix; the last colon parts the two (names hold none)."""
    prefix, colon, name = spec.rpartition(":")
    return queue_id(prefix if colon else DEFAULT_PREFIX, name)


def queue_of_anchor(key: bytes, prefixes: tuple[bytes, ...] = ()) -> QueueId | None:
    """The queue that a key of SCAN belongs to, or None where the key is no anchor.

    With no `prefixes` the segment before the suffix is the name and all before it the prefix (BullMQ has refused
    colons in names since 5.12.12); a known prefix also finds the older names with colons. Keys of the relay feature
    have an empty queue segment (`bull::relay:...`) and are no queues.
    """
    base, _, suffix = key.rpartition(b":")
    if suffix not in ANCHORS:
        return None
    if prefixes:
        owner = max((p for p in prefixes if base.startswith(p + b":")), key=len, default=None)
        if owner is None:
            return None
        prefix, name = owner, base[len(owner) + 1 :]
    else:
        prefix, _, name = base.rpartition(b":")
    if not name or name.startswith(b":") or b"::relay:" in key or not base.startswith(prefix + b":"):
        return None
    return QueueId(prefix, name)


def is_bullmq(events_limit: Reply, version: Reply, events_type: Reply) -> bool:
    """Whether BullMQ wrote what lies under a base key: many an application's own keys end in `:id` or `:meta`.

    Old Bull's queues have an `id` too, but no event stream, and no trim length in `meta`.

    Args:
        events_limit: The field `opts.maxLenEvents` of `meta`.
        version: The field `version` of `meta`.
        events_type: The type of `events`.
    """
    refusals = [reply for reply in (events_limit, events_type) if isinstance(reply, Fault) and reply.code == "NOPERM"]
    if refusals:  # of a key that is not ours to read it is none; of a command, the scrape will say which
        return not any("access" in refusal.message for refusal in refusals)
    written = isinstance(version, bytes) and version.startswith(b"bullmq")
    return written or isinstance(events_limit, bytes) or events_type == b"stream"


def node_client_name(queue: QueueId) -> bytes:
    """What a Node.js worker calls its blocking connection (`CLIENT SETNAME`), before any `:w:<worker name>`."""
    return b"%b:%b" % (queue.prefix_bytes, b64encode(queue.name_bytes))


def python_client_name(queue: QueueId) -> bytes:
    """What a Python worker calls each of its connections, before any `:w:<worker name>`."""
    return b"%b:%b" % (queue.prefix_bytes, queue.name_bytes)
