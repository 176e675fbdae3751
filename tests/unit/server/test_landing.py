"""The landing page: everything in it escaped, nothing in it from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import re

from qobserve.server.landing import LANDING_POLICY, landing_page


def test_names_from_outside_are_escaped() -> None:
    page = landing_page("<1>", "/metrics", ["a&b", '"><script>'])
    assert "<script" not in page
    assert "<code>&lt;1&gt;</code>" in page
    assert '<a href="/scrape?target=a%26b">Target a&amp;b</a>' in page
    assert 'href="/scrape?target=%22%3E%3Cscript%3E"' in page


def test_it_links_to_every_page() -> None:
    links = re.findall(r'href="([^"]+)"', landing_page("1", "/m", ["eu"]))
    assert links == ["/m", "/scrape?target=eu", "/discover", "/-/healthy", "/-/ready"]


def test_its_policy_allows_its_own_style_and_nothing_unsafe() -> None:
    style = re.findall(r"<style>(.*?)</style>", landing_page("1", "/m", []), re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style[0].encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in LANDING_POLICY
    assert LANDING_POLICY.startswith("default-src 'none'")
    assert "unsafe" not in LANDING_POLICY
    assert not re.search(r"style=|<script|onload|http:|https:", landing_page("1", "/m", []))
