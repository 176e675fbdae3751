"""One entry of a queue's event stream, taken apart; large fields are never touched.

Source of the facts: docs/bullmq-format.md#events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from qobserve.model.keys import text
from qobserve.model.reply import natural

if TYPE_CHECKING:
    from qobserve.model.reply import Reply

_PAIR = 2
_OF_JOB = 4
"""An event of a job has two fields at least."""

_LONGEST_WORD = 256
_MOST_WORDS = 4096
_MOST_NUMBERS = 4096
"""Names of events, jobs and states beyond these are not worth remembering."""


class Event(NamedTuple):
    """What an entry says.

    Attributes:
        ms: When it was written, on the server's clock (ms since the epoch), from the entry's id.
        seq: The number within that millisecond, likewise.
        kind: BullMQ's name of the event, or an application's own.
        job: The job's id, for people; None for an event of the whole queue.
        raw: The job's id as Redis holds it.
        name: The job's name (`added`).
        prev: Where the job came from.
        delay_ms: When a delayed job is due: a moment, in spite of its name.
        attempts_made: How often the job has run (`retries-exhausted`).
        count: How many jobs (`cleaned`).
        other: The id that was turned away (`deduplicated`).
    """

    ms: int
    seq: int
    kind: str
    job: str | None = None
    raw: bytes | None = None
    name: str | None = None
    prev: str | None = None
    delay_ms: int | None = None
    attempts_made: int | None = None
    count: int | None = None  # type: ignore[assignment]  # hides tuple.count, which nobody calls
    other: str | None = None


_OWN_FIELDS = {
    b"delayed": ("delay_ms", b"delay"),
    b"retries-exhausted": ("attempts_made", b"attemptsMade"),
    b"cleaned": ("count", b"count"),
    b"deduplicated": ("other", b"deduplicatedJobId"),
}
"""What only one kind of event carries; most entries are spared the search for it."""

_new = tuple.__new__  # Event's own constructor takes four times as long, and every entry passes here
_words: dict[bytes, str] = {}
_numbers: dict[bytes, int] = {}  # neighbours share their ms, and all streams their small numbers


def decode(entry: Reply) -> Event | None:
    """Take apart an entry as XREAD and XRANGE give it, `[id, [field, value, ...]]`; None for anything else."""
    if not isinstance(entry, list) or len(entry) != _PAIR:
        return None
    identity, flat = entry
    if not isinstance(identity, bytes) or not isinstance(flat, list):
        return None
    strings: list[bytes] = flat  # type: ignore[assignment]  # what is no string raises below
    try:
        head, _, tail = identity.partition(b"-")
        ms, seq = _numbers.get(head) or _number(head), _numbers.get(tail) or _number(tail)
        size, kind = len(strings), strings[1]
        if size < _OF_JOB or strings[0] != b"event" or strings[2] != b"jobId" or kind in _OWN_FIELDS:
            return _decode_any(ms, seq, strings)
        name = prev = None
        for place in range(_OF_JOB, size, 2):
            field = strings[place]
            if field == b"prev":
                value = strings[place + 1]
                prev = _words.get(value) or _word(value)
            elif field == b"name":
                value = strings[place + 1]
                name = _words.get(value) or _word(value)
        raw = strings[3]
        word = _words.get(kind) or _word(kind)
        job = str(raw, "utf-8", "backslashreplace")  # as `text` does, less a call
        return _new(Event, (ms, seq, word, job, raw, name, prev, None, None, None, None))
    except (TypeError, ValueError, AttributeError, KeyError, IndexError):  # a stranger's entry, of whatever shape
        return None


def _decode_any(ms: int, seq: int, strings: list[bytes]) -> Event:
    """The same, slowly, for fields in any order."""
    fields = dict(zip(strings[::2], strings[1::2], strict=False))
    kind, raw = fields[b"event"], fields.get(b"jobId")
    name, prev = fields.get(b"name"), fields.get(b"prev")
    event = Event(
        ms,
        seq,
        _word(kind),
        None if raw is None else text(raw),
        raw,
        None if name is None else _word(name),
        None if prev is None else _word(prev),
    )
    return _with_own_field(event, kind, fields) if kind in _OWN_FIELDS else event


def _with_own_field(event: Event, kind: bytes, fields: dict[bytes, bytes]) -> Event:
    attribute, name = _OWN_FIELDS[kind]
    value = fields.get(name)
    if value is None:
        return event
    if attribute == "other":
        return event._replace(other=text(value))
    whole_part = value.partition(b".")[0]  # BullMQ up to 4 writes some moments with a fraction
    return event._replace(**{attribute: natural(whole_part)})  # type: ignore[arg-type]  # the others are numbers


def _number(value: bytes) -> int:
    """A number of an id; the last few are kept."""
    if len(_numbers) >= _MOST_NUMBERS:
        _numbers.clear()
    number = _numbers[value] = int(value)
    return number


def _word(value: bytes) -> str:
    """A word of the few that return again and again: each is kept once."""
    known = _words.get(value)
    if known is None:
        known = text(value)
        if len(value) <= _LONGEST_WORD and len(_words) < _MOST_WORDS:
            _words[value] = known
    return known
