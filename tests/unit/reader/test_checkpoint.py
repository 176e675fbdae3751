"""The checkpoint: it comes back as it was written, and what is no checkpoint is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from qobserve.model.keys import QueueId
from qobserve.reader.checkpoint import CheckpointError, Saved, SavedStream, load, save

if TYPE_CHECKING:
    from pathlib import Path

SAVED = Saved(
    streams=(
        SavedStream(
            queue=QueueId(b"bull", b"mail"),
            cursor=(1_796_035_863_000, 12),
            added=4_000,
            totals={"completed": 7, "failed": None, "added": 0},
        ),
        SavedStream(queue=QueueId(b"a:b", b"\xff\xfe no text"), cursor=(0, 0), added=None),
    ),
    counts={'prefix="bull",queue="mail"': {"": {"completed": 3}, "welcome": {"failed": 1}}},
)


def test_what_is_saved_comes_back(tmp_path: Path) -> None:
    file = tmp_path / "follow.json"
    assert load(file) is None
    save(file, Saved())
    save(file, SAVED)
    assert load(file) == SAVED
    assert [path.name for path in tmp_path.iterdir()] == ["follow.json"]


def test_a_crash_in_the_middle_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "follow.json"
    save(file, SAVED)

    def crash(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", crash)
    with pytest.raises(CheckpointError, match="No space left"):
        save(file, Saved())
    assert load(file) == SAVED
    assert [path.name for path in tmp_path.iterdir()] == ["follow.json"]


def _with(**changes: object) -> str:
    stream = {"prefix": "bull", "name": "q", "cursor": [1, 0], "added": 1, "totals": {}, **changes}
    return json.dumps({"format": "qobserve checkpoint 1", "streams": [stream], "counts": {}})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        "[" * 5_000,
        '{"format": "qobserve checkpoint 2", "streams": [], "counts": {}}',
        '{"format": "qobserve checkpoint 1", "streams": []}',
        '{"format": "qobserve checkpoint 1", "streams": [], "counts": {"q": {"": {"completed": -1}}}}',
        '{"format": "qobserve checkpoint 1", "streams": [], "counts": [1]}',
        _with(cursor="1-0"),
        _with(cursor=[1, -1]),
        _with(cursor=[1]),
        _with(added=-1),
        _with(added="1"),
        _with(added=True),
        _with(totals={"completed": 1.5}),
        _with(totals=[]),
        _with(prefix=None),
        "\ud800".encode("utf-8", "surrogatepass"),
    ],
)
def test_what_is_no_checkpoint_is_refused(tmp_path: Path, text: str | bytes) -> None:
    file = tmp_path / "follow.json"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(CheckpointError, match=r"follow\.json"):
        load(file)


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="cannot write the checkpoint"):
        save(tmp_path / "absent" / "follow.json", SAVED)
    with pytest.raises(CheckpointError, match="cannot read the checkpoint"):
        load(tmp_path)
