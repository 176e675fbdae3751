"""Of what the spans are: the attributes of the resource, by OpenTelemetry's rules."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

from qobserve import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

SERVICE_NAME = "service.name"
OURS = "qobserve"


def resource_attributes(listed: str, service_name: str) -> Mapping[str, str]:
    """The attributes: qobserve's own, then what OTEL_RESOURCE_ATTRIBUTES lists, then what OTEL_SERVICE_NAME says.

    The service is qobserve and not the worker that a span tells of: qobserve is who made the span, and several
    services may share one queue. The queue stands in each span.

    Raises:
        ValueError: An entry of the list is no pair.
    """
    attributes: dict[str, str] = {}
    for number, item in enumerate(listed.split(","), start=1):
        name, equals, value = item.partition("=")
        if equals and name.strip():
            attributes[unquote(name.strip())] = unquote(value.strip())
        elif item.strip():
            raise ValueError(f"entry {number} is no attribute: write NAME=VALUE, and %2C for a comma in a value")
    service = service_name or attributes.get(SERVICE_NAME) or OURS
    # Another service does not come with our version.
    version = {"service.version": __version__} if service == OURS else {}
    return {**version, **attributes, SERVICE_NAME: service}
