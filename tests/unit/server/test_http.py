"""Request headers: how long a scrape may take, and whether gzip is wanted."""

from __future__ import annotations

import pytest

from qobserve.server.http import accepts_gzip, scrape_timeout


@pytest.mark.parametrize(
    ("header", "offset", "seconds"),
    [
        ("15", 0.5, 14.5),
        ("10.000000", 0.5, 9.5),
        ("", 0.5, 10.0),
        ("soon", 0.5, 10.0),
        ("nan", 0.5, 10.0),
        ("inf", 0.5, 10.0),
        ("-3", 0.5, 10.0),
        ("0", 0.5, 10.0),
        ("0.5", 0.5, 0.1),
        ("0.2", 1.0, 0.1),
        ("3", 0.0, 3.0),
    ],
)
def test_a_scrape_ends_before_prometheus_gives_up(header: str, offset: float, seconds: float) -> None:
    assert scrape_timeout(header, offset) == pytest.approx(seconds)


@pytest.mark.parametrize("header", ["gzip", "GZIP", "deflate, gzip;q=0.5", "*", "identity, *;q=0.1", "gzip; q=1"])
def test_gzip_is_wanted(header: str) -> None:
    assert accepts_gzip(header)


@pytest.mark.parametrize(
    "header", ["", "identity", "deflate", "gzip;q=0", "*, gzip;q=0", "*;q=0", "gzip;q=x", "gzipped"]
)
def test_gzip_is_not_wanted(header: str) -> None:
    assert not accepts_gzip(header)
