"""The settings that each target has of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.config import kinds
from qobserve.config.setting import Setting
from qobserve.config.settings import DiscoverySettings, QueueSettings, TargetSettings

if TYPE_CHECKING:
    from qobserve.config.kinds import Kind

TARGET_SECTIONS = ("redis", "discovery", "queues")


def _redis(name: str, kind: Kind, help_: str, *, secret: bool = False) -> Setting:
    field = name.replace("-", "_")
    return Setting(name=f"redis.{name}", kind=kind, owner=TargetSettings, field=field, help=help_, secret=secret)


TARGET_TABLE: tuple[Setting, ...] = (
    _redis("url", kinds.URL, "The Redis to read: redis://, rediss:// (TLS) or unix://."),
    _redis("user", kinds.WORD, "ACL user; wins over the URL's."),
    _redis("password", kinds.WORD, "Password; wins over the URL's.", secret=True),
    _redis("password-file", kinds.FILE, "File that holds the password; read again at a reload."),
    _redis("database", kinds.within(0, 999_999_999), "Database index; wins over the URL's."),
    _redis("tls-ca-cert-file", kinds.FILE, "CA certificates that sign Redis's own, as PEM."),
    _redis("tls-client-cert-file", kinds.FILE, "Client certificate, as PEM."),
    _redis("tls-client-key-file", kinds.FILE, "Key of the client certificate, as PEM."),
    _redis("tls-skip-verification", kinds.BOOLEAN, "Whether Redis's certificate is taken unverified."),
    _redis("sentinel", kinds.SENTINELS, "A Sentinel to ask for the Redis; repeatable."),
    _redis("sentinel-master", kinds.WORD, "Name of the master that the Sentinels watch."),
    _redis("sentinel-user", kinds.WORD, "ACL user for the Sentinels."),
    _redis("sentinel-password", kinds.WORD, "Password for the Sentinels.", secret=True),
    _redis("sentinel-password-file", kinds.FILE, "File that holds the Sentinels' password; read again at a reload."),
    _redis("sentinel-tls", kinds.BOOLEAN, "Whether the Sentinels speak TLS, with the certificates of redis.tls-*."),
    _redis("cluster", kinds.BOOLEAN, "Whether the Redis is a cluster; the URL is one of its nodes."),
    _redis("read-from", kinds.one_of("primary", "replica"), "Which node of a Sentinel group or a cluster is read."),
    _redis("connect-timeout", kinds.POSITIVE_DURATION, "Time limit of a connection attempt."),
    _redis("timeout", kinds.POSITIVE_DURATION, "Time limit of a whole snapshot."),
    Setting(
        name="discovery.enabled",
        kind=kinds.BOOLEAN,
        owner=DiscoverySettings,
        field="enabled",
        help="Whether queues are discovered; without it only those of queues.static are watched.",
    ),
    Setting(
        name="discovery.interval",
        kind=kinds.POSITIVE_DURATION,
        owner=DiscoverySettings,
        field="interval",
        help="Time between two discovery passes.",
    ),
    Setting(
        name="discovery.prefix",
        kind=kinds.PREFIXES,
        owner=DiscoverySettings,
        field="prefixes",
        help="A key prefix to discover queues under; repeatable; without it all prefixes.",
    ),
    Setting(
        name="discovery.scan-count",
        kind=kinds.within(1, 1_000_000),
        owner=DiscoverySettings,
        field="scan_count",
        help="Keys that Redis looks at per SCAN call.",
    ),
    Setting(
        name="queues.static",
        kind=kinds.QUEUES,
        owner=QueueSettings,
        field="static",
        help="A queue that is watched without being discovered; a bare name has the prefix bull; repeatable.",
    ),
    Setting(
        name="queues.include",
        kind=kinds.GLOBS,
        owner=QueueSettings,
        field="include",
        help="Glob for the queues to watch, held against NAME and PREFIX:NAME; repeatable; without it all queues.",
    ),
    Setting(
        name="queues.exclude",
        kind=kinds.GLOBS,
        owner=QueueSettings,
        field="exclude",
        help="Glob for the queues not to watch, held against NAME and PREFIX:NAME; repeatable.",
    ),
)
