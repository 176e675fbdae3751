"""`qobserve demo`: the whole product on one machine, with nothing installed but the package."""

from __future__ import annotations

from pathlib import Path

import click

from qobserve.config.kinds import positive_duration, split_address


def _address(_context: click.Context, _parameter: click.Parameter, value: str) -> tuple[str, int]:
    try:
        return split_address(value)
    except ValueError as exc:
        raise click.BadParameter(str(exc)) from exc


def _seconds(_context: click.Context, _parameter: click.Parameter, value: str | None) -> float | None:
    try:
        return None if value is None else positive_duration(value)
    except ValueError as exc:
        raise click.BadParameter(str(exc)) from exc


@click.command("demo", short_help="Watch a live BullMQ workload, with no Redis of your own.")
@click.option(
    "--duration",
    metavar="DURATION",
    callback=_seconds,
    envvar="QOBSERVE_DURATION",
    show_envvar=True,
    help="End by itself after this time, as 30, 30s or 5m.  [default: until Ctrl-C]",
)
@click.option(
    "--web.listen-address",
    "listen",
    metavar="ADDRESS",
    default="127.0.0.1:10538",
    show_default=True,
    callback=_address,
    envvar="QOBSERVE_WEB_LISTEN_ADDRESS",
    show_envvar=True,
    help="Where /metrics is served; a free port of the same host when this one is taken.",
)
@click.option(
    "--redis.server-binary",
    "server_binary",
    type=click.Path(exists=True, dir_okay=False, executable=True, resolve_path=True, path_type=Path),
    hidden=True,
    help="A Redis or Valkey server to start in place of the embedded one.",
)
def command(duration: float | None, listen: tuple[str, int], server_binary: Path | None) -> None:
    """Start a Valkey server, a BullMQ workload and the exporter on it, and watch the queues.

    Needs no Redis, Docker, Node.js or network. Ctrl-C ends everything and leaves nothing behind.
    """
    # Only who runs the demo pays for what it needs.
    from qobserve.demo.address import Address  # noqa: PLC0415 - as above
    from qobserve.demo.run import Plan, run  # noqa: PLC0415 - as above

    host, port = listen
    run(Plan(listen=Address(host=host, port=port), duration=duration, server_binary=server_binary))
