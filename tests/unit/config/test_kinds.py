"""The texts that each kind of setting takes, and what it says about the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qobserve.config import kinds

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10s", 10.0),
        ("500ms", 0.5),
        ("2m", 120.0),
        ("1h", 3600.0),
        ("1d", 86400.0),
        ("1h30m", 5400.0),
        ("1.5s", 1.5),
        ("0", 0.0),
        ("7", 7.0),
        ("0.25", 0.25),
        (" 3s ", 3.0),
    ],
)
def test_a_duration_is_seconds(text: str, seconds: float) -> None:
    assert kinds.duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "s", "10 s", "1x", "1e3", "inf", "nan", "1s2", "\u0661s", "--1", "1,5s"])
def test_what_is_no_duration_is_told_how_to_write_one(text: str) -> None:
    with pytest.raises(
        ValueError, match=r"is not a duration: write 10s, 500ms, 2m, 1h or a number of seconds|negative"
    ):
        kinds.duration(text)


def test_a_negative_a_zero_and_an_endless_duration_are_named() -> None:
    with pytest.raises(ValueError, match=r'^"-1s" is negative'):
        kinds.duration("-1s")
    for text in ("0s", "0", "-1", "-1s", "-0.5m"):
        with pytest.raises(ValueError, match=rf'^"{text}" is too short: it must be more than zero$'):
            kinds.positive_duration(text)
    with pytest.raises(ValueError, match="longer than a year"):
        kinds.duration("9" * 400)


@given(st.floats(min_value=0.001, max_value=86400 * 300).map(lambda value: float(f"{value:.4g}")))
def test_a_shown_duration_reads_back_as_itself(seconds: float) -> None:
    shown = kinds.show_duration(seconds)
    if "e" not in shown:
        assert kinds.duration(shown) == pytest.approx(seconds, rel=1e-3)


@pytest.mark.parametrize("text", ["true", "1", "YES", "on", " True "])
def test_true(text: str) -> None:
    assert kinds.boolean(text) is True


@pytest.mark.parametrize("text", ["false", "0", "No", "off"])
def test_false(text: str) -> None:
    assert kinds.boolean(text) is False


@pytest.mark.parametrize("text", ["", "2", "y", "enabled"])
def test_neither_true_nor_false(text: str) -> None:
    with pytest.raises(ValueError, match="is neither true nor false"):
        kinds.boolean(text)


@pytest.mark.parametrize(("text", "share"), [("0.995", 0.995), ("99.5%", 0.995), ("99.99%", 0.9999), ("0.5", 0.5)])
def test_a_ratio_is_a_share_or_per_cent(text: str, share: float) -> None:
    assert kinds.ratio(text) == share


@pytest.mark.parametrize("text", ["0", "1", "100%", "0%", "99.5", "-0.5", "nan", "50 %"])
def test_what_is_no_share_between_0_and_1(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a share between 0 and 1: write 0\.995 or 99\.5%"):
        kinds.ratio(text)


def test_a_whole_number_keeps_to_its_bounds() -> None:
    parse = kinds.integer(0, 15)
    assert [parse("0"), parse("15")] == [0, 15]
    for text in ("16", "-1", "1.0", "x", "", "9" * 30, "1_0"):
        with pytest.raises(ValueError, match="is not a whole number from 0 to 15"):
            parse(text)


def test_a_choice_names_what_is_allowed() -> None:
    assert kinds.choice("debug", "info")("DEBUG") == "debug"
    with pytest.raises(ValueError, match=r'^"loud" is not one of debug, info$'):
        kinds.choice("debug", "info")("loud")


@pytest.mark.parametrize(
    ("text", "queue"),
    [("emails", "bull:emails"), ("{bull}:emails", "{bull}:emails"), ("a:b:c", "a:b:c"), ("ü x", "bull:ü x")],
)
def test_a_queue_has_a_prefix(text: str, queue: str) -> None:
    assert kinds.queue(text) == queue


@pytest.mark.parametrize("text", ["", ":", "bull:", ":emails"])
def test_what_names_no_queue(text: str) -> None:
    with pytest.raises(ValueError, match="is not a queue"):
        kinds.queue(text)


@pytest.mark.parametrize(
    ("text", "address"),
    [(":10538", ("", 10538)), ("127.0.0.1:0", ("127.0.0.1", 0)), ("[::1]:80", ("::1", 80)), ("host:1", ("host", 1))],
)
def test_an_address_has_a_host_and_a_port(text: str, address: tuple[str, int]) -> None:
    assert kinds.split_address(text) == address


@pytest.mark.parametrize("text", ["", "10538", "host", "host:", ":65536", "::1:80", "[::1]", "[x]:1", "a b:1", "h:-1"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not an address|no IPv6 address"):
        kinds.split_address(text)


@pytest.mark.parametrize(
    ("text", "address"),
    [("s1:26380", "s1:26380"), ("s1", "s1:26379"), ("[::1]:1", "[::1]:1"), ("[::1]", "[::1]:26379")],
)
def test_a_sentinel_has_its_usual_port(text: str, address: str) -> None:
    assert kinds.sentinel_address(text) == address


@pytest.mark.parametrize("text", ["", ":26379", "s1:0", "s1:x", "s1:99999", "redis://s1:1"])
def test_what_is_no_sentinel(text: str) -> None:
    with pytest.raises(ValueError, match="is not an address: write HOST:PORT"):
        kinds.sentinel_address(text)


@pytest.mark.parametrize("parse", [kinds.split_address, kinds.sentinel_address])
@pytest.mark.parametrize("text", ["u:topsecret@h:1", "u:topsecret", "topsecret@h:x"])
def test_an_address_with_a_password_is_refused_without_telling_it(parse: Callable[[str], object], text: str) -> None:
    with pytest.raises(ValueError, match="is not an address") as caught:
        parse(text)
    assert "topsecret" not in str(caught.value)


@pytest.mark.parametrize("text", ["/", "metrics", "/scrape", "/discover", "/-/ready", "/a b", "/a{b}", "/a/", ""])
def test_a_telemetry_path_is_a_free_path(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a path|is taken"):
        kinds.telemetry_path(text)
    assert kinds.telemetry_path("/qobserve/metrics") == "/qobserve/metrics"


def test_a_file_must_be_there_and_readable(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_text("x")
    assert kinds.readable_file(str(there)) == there
    for text, reason in ((str(tmp_path / "gone"), "No such file"), (str(tmp_path), "directory"), ("a\0b", "null")):
        with pytest.raises(ValueError, match=reason):
            kinds.readable_file(text)


@pytest.mark.parametrize("parse", [kinds.duration, kinds.boolean, kinds.ratio, kinds.listen_address])
def test_a_message_is_one_short_line_without_passwords(parse: Callable[[str], object]) -> None:
    with pytest.raises(ValueError, match="is ") as caught:
        parse("redis://u:secret@h\n\x1b[31m" + "x" * 5000)
    message = str(caught.value)
    assert message.isprintable()
    assert len(message) < 300
    assert "secret" not in message
