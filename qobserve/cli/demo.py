"""`qobserve demo`: the whole product on one machine, with nothing installed but the package."""

from __future__ import annotations

import os

from qobserve.cli.demo_settings import SHOWN_SETTINGS, demo_settings
from qobserve.cli.settings_command import SettingsCommand
from qobserve.config.kinds import split_address


def demo(words: tuple[str, ...]) -> None:
    """Start a Valkey server, a BullMQ workload and the exporter on it, and watch the queues.

    Needs no Redis, Docker, Node.js or network. Ctrl-C ends everything and leaves nothing behind.
    """
    settings = demo_settings(words, os.environ)
    # Only who runs the demo pays for what it needs.
    from qobserve.demo.address import Address  # noqa: PLC0415 - as above
    from qobserve.demo.run import Plan, run  # noqa: PLC0415 - as above

    host, port = split_address(settings.listen_address)
    address = Address(host=host, port=port)
    run(Plan(listen=address, duration=settings.duration, server_binary=settings.server_binary))


command = SettingsCommand("demo", SHOWN_SETTINGS, callback=demo)
