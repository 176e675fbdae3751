"""Grafana dashboards: small builders over grafanalib that take metric families, not strings.

What is drawn stands in `dashboards/*.dashboard.py`; what is here knows how. A definition is inert: it makes a value
called `dashboard` and does nothing else. Needs the extra `[dashboards]`, except for `foreign`, `links` and `promql`.
"""
