"""Redis URLs: what is taken and what is refused."""

from __future__ import annotations

import re

import pytest

from qobserve.config.redis_url import redis_url, url_database


@pytest.mark.parametrize(
    "url",
    [
        "redis://127.0.0.1:6379/0",
        "redis://localhost",
        "REDISS://user:p%40ss@host:6380/3",
        "redis://[::1]:6379",
        "redis://:pw@host/",
        "redis://host?db=4",
        "unix:///run/redis.sock?db=2",
        "unix://user:pw@/run/redis.sock",
    ],
)
def test_a_good_url_stays_as_it_is(url: str) -> None:
    assert redis_url(url) == url


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("localhost:6379", "has no scheme"),
        ("", "has no scheme"),
        ("http://host", '"http" is not a scheme that is supported'),
        ("redis+sentinel://host", "is not a scheme that is supported"),
        ("redis://host:port", "bad host or port"),
        ("redis://host:70000", "bad host or port"),
        ("redis://host:0", "bad port"),
        ("redis://[::1", "bad host or port"),
        ("redis://host/x", "bad database index"),
        ("redis://host/-1", "bad database index"),
        ("redis://host?db=x", "bad database index"),
        ("redis://host?ssl_cert_reqs=none", 'the parameter "ssl_cert_reqs"'),
        ("redis://:a#b@host", 'has a "#" or a space'),
        ("redis://ho st", 'has a "#" or a space'),
        ("unix://", "names no socket"),
        ("redis://h/1?db=2", "names more than one database"),
        ("unix:///run/s?db=1&db=2", "names more than one database"),
        ("redis://a,b", "names several hosts"),
        ("redis://u:pw@a:1,b:2/0", "names several hosts"),
        ("u:topsecret@redis://h", 'what "***@redis:***" begins with is not a scheme'),
        ("redis://h\n\x1b[31m", '"redis://h\\n\\u001b[31m" has a "#" or a space'),
    ],
)
def test_a_bad_url_is_told_why(url: str, reason: str) -> None:
    with pytest.raises(ValueError, match=re.escape(reason)):
        redis_url(url)


@pytest.mark.parametrize(
    ("url", "database"),
    [
        ("redis://h", 0),
        ("redis://h/3", 3),
        ("redis://h/3?db=3", 3),
        ("redis://h?db=5", 5),
        ("unix:///run/7?db=2", 2),
        ("unix:///run/7", 0),
    ],
)
def test_the_database_of_a_url(url: str, database: int) -> None:
    assert url_database(url) == database
