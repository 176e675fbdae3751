"""The program `qobserve`: its subcommands, and the exit code of whatever they end with."""

from __future__ import annotations

import logging
import os
import traceback
from importlib import import_module

import click

from qobserve import __version__
from qobserve.errors import MissingExtra, QobserveError, SettingsError

EXIT_OK = 0
EXIT_FAIL = 1
EXIT_USAGE = 64
EXIT_INTERNAL = 70
_INTERRUPTED = 130

# Where each subcommand lives, and its line in the help: the modules are imported only when they are called for.
COMMANDS = {
    "exporter": ("qobserve.cli.exporter", "Serve Prometheus metrics of the queues of one or more Redis."),
    "trace": ("qobserve.cli.trace", "Export traces of the jobs of one or more Redis, without serving metrics."),
    "dashboards": ("qobserve.cli.dashboards", "Write the Grafana dashboards."),
    "alerts": ("qobserve.cli.alerts", "Write the alert rules for Prometheus."),
    "demo": ("qobserve.cli.demo", "Watch a BullMQ workload of all kinds of queues, on an embedded server."),
}


class LazyGroup(click.Group):
    """A group whose subcommands are imported when they run."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the signature is click's
        """The names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        """The subcommand, None when there is none of this name."""
        if cmd_name not in COMMANDS:
            return None
        command = import_module(COMMANDS[cmd_name][0]).command
        if not isinstance(command, click.Command):
            raise TypeError(f"{COMMANDS[cmd_name][0]}.command is no command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The subcommand that the first word names; an unknown word gets the nearest known one."""
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            # Imported here so that `qobserve --help` does not wait for the settings to load.
            from qobserve.config.given import did_you_mean  # noqa: PLC0415 - as above
            from qobserve.config.shown import quoted_address  # noqa: PLC0415 - as above

            ctx.fail(f"there is no command {quoted_address(args[0])}{did_you_mean(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as above
        """The list of subcommands, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="qobserve", message="%(prog)s %(version)s")
def cli() -> None:
    """Know, and prove, that BullMQ job queues are healthy."""


def run(words: list[str]) -> int:
    """The exit code of a command line; messages about errors go to standard error."""
    try:
        result = cli.main(args=words, prog_name="qobserve", standalone_mode=False)
    except click.ClickException as exc:
        exc.show()
        return EXIT_USAGE
    except (click.Abort, KeyboardInterrupt):
        return _INTERRUPTED
    except QobserveError as exc:
        return _fail(exc)
    except Exception as exc:  # noqa: BLE001 - the outermost place: whatever comes up here is a defect of the program
        hint = (
            traceback.format_exc()
            if _debugging()
            else "Set QOBSERVE_LOG_LEVEL=debug and run it again for the traceback."
        )
        click.echo(f"qobserve: internal error: {type(exc).__name__}: {exc}\n{hint}", err=True)
        return EXIT_INTERNAL
    return result if isinstance(result, int) else EXIT_OK


def _fail(error: QobserveError) -> int:
    if _debugging():
        click.echo("".join(traceback.format_exception(error)), err=True)
    click.echo(f"qobserve: {_message(error)}", err=True)
    return EXIT_USAGE if isinstance(error, SettingsError | MissingExtra) else EXIT_FAIL


def _message(error: QobserveError) -> str:
    if not isinstance(error, SettingsError) or len(error.problems) == 1:
        return str(error)
    return "\n  ".join([f"{len(error.problems)} settings are wrong", *error.problems])


def _debugging() -> bool:
    return os.environ.get("QOBSERVE_LOG_LEVEL") == "debug" or logging.getLogger("qobserve").isEnabledFor(logging.DEBUG)
