"""The landing page: what this is, and links to what it serves."""

from __future__ import annotations

import base64
import hashlib
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Sequence

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem}"
    "body{color:#1f2328;background:#fff}"
    "a{color:#0550ae}code{background:#f2f4f7;padding:.1em .3em;border-radius:3px}"
    "@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}a{color:#79c0ff}code{background:#22272e}}"
)
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
LANDING_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def landing_page(version: str, telemetry_path: str, aliases: Sequence[str]) -> str:
    """The page as HTML; it needs the headers of `LANDING_POLICY` and nothing from elsewhere."""
    links = [
        (telemetry_path, "Metrics", "of the default target and of this exporter"),
        *(
            (f"/scrape?target={quote(alias, safe='')}", f"Target {alias}", "metrics of this target")
            for alias in aliases
        ),
        ("/discover", "Discovery", "all targets, for Prometheus's HTTP service discovery"),
        ("/-/healthy", "Health", "whether this process answers"),
        ("/-/ready", "Readiness", "whether the queues have been read"),
    ]
    items = "\n".join(
        f'<li><a href="{escape(href)}">{escape(name)}</a> <span>{escape(text)}</span></li>'
        for href, name, text in links
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>qobserve exporter</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>qobserve exporter</h1>
<p>Prometheus metrics of BullMQ queues. Version <code>{escape(version)}</code>.</p>
<ul>
{items}
</ul>
</body>
</html>
"""
