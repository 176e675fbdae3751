"""The file by which following goes on after a restart: how far each stream was read, and what had been counted."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from qobserve.errors import QobserveError
from qobserve.model.keys import QueueId

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from qobserve.reader.follow_place import EntryId

Counts: TypeAlias = "Mapping[str, Mapping[str, Mapping[str, int]]]"
"""Counts by queue, job name and kind, as `Tally` keeps them."""

_FORMAT = "qobserve checkpoint 1"
_BYTES = ("utf-8", "surrogateescape")


class CheckpointError(QobserveError):
    """The file cannot be read or written, or is none of ours; following can do without it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedStream:
    """How far a stream was read, and how its accounts stood there (`follow_ledger`).

    Attributes:
        queue: The queue.
        cursor: The last entry that was read.
        added: How many entries had ever been written up to there; None before Redis 7.
        totals: By kind, the total that the store should have shown there; None when unknown.
    """

    queue: QueueId
    cursor: EntryId
    added: int | None
    totals: Mapping[str, int | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """All that outlives a restart."""

    streams: tuple[SavedStream, ...] = ()
    counts: Counts = field(default_factory=dict)


def load(path: Path) -> Saved | None:
    """What the file holds; None where there is no file yet.

    Raises:
        CheckpointError: It cannot be read, or holds something else.
    """
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
        if written["format"] != _FORMAT:
            raise CheckpointError(f"{path} is no checkpoint of this version; remove it to begin anew")
        streams = tuple(_stream(row) for row in written["streams"])
        return Saved(streams=streams, counts=_counts(written["counts"]))
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise CheckpointError(f"cannot read the checkpoint {path}: {exc.strerror or exc}") from exc
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as exc:
        raise CheckpointError(f"{path} is no checkpoint, or was damaged; remove it to begin anew") from exc


def save(path: Path, saved: Saved) -> None:
    """Replace the file in one step, so that a crash leaves the old one or the new one; blocks until it is on disk.

    Raises:
        CheckpointError: It cannot be written.
    """
    text = json.dumps({"format": _FORMAT, "streams": [*map(_row, saved.streams)], "counts": saved.counts})
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        try:
            with beside.open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as exc:
        raise CheckpointError(f"cannot write the checkpoint {path}: {exc.strerror or exc}") from exc


def _row(stream: SavedStream) -> dict[str, object]:
    return {
        "prefix": stream.queue.prefix_bytes.decode(*_BYTES),
        "name": stream.queue.name_bytes.decode(*_BYTES),
        "cursor": stream.cursor,
        "added": stream.added,
        "totals": stream.totals,
    }


def _stream(row: Mapping[str, object]) -> SavedStream:
    prefix, name, totals = row["prefix"], row["name"], row["totals"]
    if not isinstance(prefix, str) or not isinstance(name, str) or not isinstance(totals, dict):
        raise TypeError("a stream is of an unknown form")
    return SavedStream(
        queue=QueueId(prefix.encode(*_BYTES), name.encode(*_BYTES)),
        cursor=_entry(row["cursor"]),
        added=_total(row["added"]),
        totals={str(kind): _total(total) for kind, total in totals.items()},
    )


def _entry(value: object) -> EntryId:
    match value:
        case [int(ms), int(number)] if ms >= 0 and number >= 0:
            return ms, number
    raise TypeError("an entry's id is of an unknown form")


def _total(value: object) -> int | None:
    return None if value is None else _count(value)


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise TypeError("a count is of an unknown form")
    return value


def _counts(value: object) -> Counts:
    if not isinstance(value, dict):
        raise TypeError("the counts are of an unknown form")
    return {
        str(labels): {
            str(name): {str(kind): _count(count) for kind, count in kinds.items()} for name, kinds in names.items()
        }
        for labels, names in value.items()
    }
