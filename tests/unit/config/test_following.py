"""The settings of what follows the events: forms, bounds, and what does not go together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from qobserve.config import FollowSettings, MetricsSettings, Settings, TracingSettings
from qobserve.config.following_kinds import otlp_endpoint, share, writable_file
from qobserve.config.load import load_settings
from qobserve.errors import SettingsError

if TYPE_CHECKING:
    from pathlib import Path

    from rig.certificates import Certificates


def problems(*words: str, environ: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        load_settings(words, environ or {})
    return list(caught.value.problems)


def test_all_are_told_by_a_file(tmp_path: Path, certificates: Certificates) -> None:
    (tmp_path / "headers").write_text("Authorization=Bearer x\n")
    (tmp_path / "config.yml").write_text(f"""
follow: {{enabled: true, open-jobs: 1000, checkpoint-file: place.json}}
metrics:
  job-names: true
  job_names_limit: 5
  queue-template: ["tenant-*-mail", "a*"]
  wait-buckets: [100ms, 1, 6h]
  processing-buckets: 0.5,2m
tracing:
  otlp-endpoint: https://collector:4317
  otlp-protocol: grpc
  otlp-headers-file: headers
  otlp-ca-file: {certificates.ca_certificate}
  otlp-client-cert-file: {certificates.client_certificate}
  otlp-client-key-file: {certificates.client_key}
  otlp-timeout: 3s
  sampling-ratio: 10%
  relation: parent
  queue-size: 10
""")
    settings = load_settings(["--config.file", str(tmp_path / "config.yml")], {})

    assert settings.follow == FollowSettings(open_jobs=1000, checkpoint_file=tmp_path / "place.json")
    assert settings.metrics == MetricsSettings(
        job_names=True,
        job_names_limit=5,
        queue_templates=("tenant-*-mail", "a*"),
        wait_buckets=(0.1, 1.0, 21600.0),
        processing_buckets=(0.5, 120.0),
    )
    assert settings.tracing == TracingSettings(
        otlp_endpoint="https://collector:4317",
        otlp_protocol="grpc",
        otlp_headers_file=tmp_path / "headers",
        otlp_ca_file=certificates.ca_certificate,
        otlp_client_cert_file=certificates.client_certificate,
        otlp_client_key_file=certificates.client_key,
        otlp_timeout=3.0,
        sampling_ratio=0.1,
        relation="parent",
        queue_size=10,
    )


def test_without_being_told_events_are_followed_and_nothing_is_traced() -> None:
    settings = Settings()

    assert (settings.follow.enabled, settings.tracing.otlp_endpoint, settings.metrics.job_names) == (True, None, False)
    for bounds in (settings.metrics.wait_buckets, settings.metrics.processing_buckets):
        assert list(bounds) == sorted(set(bounds))
    assert settings.metrics.wait_buckets[-1] == 21600


@pytest.mark.parametrize(
    "words",
    [
        ["--metrics.wait-buckets", "0.1,1", "--metrics.wait-buckets", "1m"],
        ["--metrics.wait-buckets=100ms,1s,60"],
    ],
)
def test_bounds_may_stand_in_one_text_or_in_several(words: list[str]) -> None:
    assert load_settings(words, {}).metrics.wait_buckets == (0.1, 1.0, 60.0)
    assert load_settings([], {"QOBSERVE_METRICS_WAIT_BUCKETS": "0.1, 1, 60"}).metrics.wait_buckets == (0.1, 1.0, 60.0)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["--metrics.wait-buckets", "1,5,5,2"],
            [
                "--metrics.wait-buckets: the bounds must rise, but 5s follows 5s",
                "--metrics.wait-buckets: the bounds must rise, but 2s follows 5s",
            ],
        ),
        (
            ["--metrics.processing-buckets", ",".join(map(str, range(1, 102)))],
            ["--metrics.processing-buckets: from 1 to 100 bounds are expected, not 101"],
        ),
        (
            ["--metrics.wait-buckets", "0,1,x,"],
            [
                '--metrics.wait-buckets: "0" is too short: it must be more than zero',
                '--metrics.wait-buckets: "x" is not a duration: write 10s, 500ms, 2m, 1h or a number of seconds',
                '--metrics.wait-buckets: "" is not a duration: write 10s, 500ms, 2m, 1h or a number of seconds',
            ],
        ),
        (["--follow.open-jobs", "0"], ['--follow.open-jobs: "0" is not a whole number from 1 to 100000000']),
        (["--tracing.relation", "both"], ['--tracing.relation: "both" is not one of link, parent']),
        (["--tracing.otlp-protocol", "http"], ['--tracing.otlp-protocol: "http" is not one of http/protobuf, grpc']),
        (
            ["--tracing.sampling-ratio", "1.5"],
            ['--tracing.sampling-ratio: "1.5" is not a share from 0 to 1: write 0.1 or 10%'],
        ),
        (
            ["--no-follow.enabled", "--tracing.otlp-endpoint=http://h:4318", "--metrics.wait-buckets=2,1"],
            [
                "--metrics.wait-buckets: the bounds must rise, but 1s follows 2s",
                (
                    "--tracing.otlp-endpoint: it is of use only while events are followed, "
                    "but --no-follow.enabled turns that off"
                ),
            ],
        ),
    ],
)
def test_what_is_wrong_is_told_together(words: list[str], told: list[str]) -> None:
    assert problems(*words, "--log.level=loud") == [
        *(problem for problem in told if not conflict(problem)),
        '--log.level: "loud" is not one of debug, info, warning, error',
        *filter(conflict, told),
    ]


def conflict(problem: str) -> bool:
    """Whether it takes more than one text to see it."""
    return "must rise" in problem or "are expected" in problem or "of use only" in problem


def test_a_checkpoint_needs_events(tmp_path: Path) -> None:
    file = tmp_path / "place.json"

    assert problems("--follow.checkpoint-file", str(file), environ={"QOBSERVE_FOLLOW_ENABLED": "no"}) == [
        (
            "--follow.checkpoint-file: it is of use only while events are followed, "
            "but QOBSERVE_FOLLOW_ENABLED turns that off"
        )
    ]
    assert load_settings(["--follow.checkpoint-file", str(file)], {}).follow.checkpoint_file == file


def test_certificates_for_the_receiver_are_looked_into(certificates: Certificates, tmp_path: Path) -> None:
    junk = tmp_path / "junk.pem"
    junk.write_text("junk")
    cert, key = f"--tracing.otlp-client-cert-file={certificates.client_certificate}", "--tracing.otlp-client-key-file"

    assert problems(cert) == [
        (
            "--tracing.otlp-client-cert-file: a client certificate and its key go together, "
            "set tracing.otlp-client-key-file as well"
        )
    ]
    assert problems(f"--tracing.otlp-ca-file={junk}", cert, f"{key}={certificates.server_key}") == [
        f'--tracing.otlp-ca-file: "{junk}" holds no certificates in PEM form',
        (
            f'--tracing.otlp-client-cert-file: "{certificates.client_certificate}" and "{certificates.server_key}" '
            "are not a certificate and its key in PEM form, the key without a passphrase"
        ),
    ]


@pytest.mark.parametrize("text", ["http://127.0.0.1:4318", "https://collector", "http://[::1]:4317/v1/traces"])
def test_an_address_of_a_receiver(text: str) -> None:
    assert otlp_endpoint(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "collector:4317",
        "ftp://h",
        "http://",
        "http://h:99999",
        "http://h:x",
        "",
        "http://h /",
        "http://[::1",
        "grpc://h:1",
    ],
)
def test_what_is_no_address_of_a_receiver(text: str) -> None:
    with pytest.raises(ValueError, match="is not an address"):
        otlp_endpoint(text)


def test_a_login_in_the_address_is_refused_and_not_shown() -> None:
    (told,) = problems("--tracing.otlp-endpoint", "https://user:topsecret@collector:4317")

    assert "tracing.otlp-headers-file" in told
    assert "topsecret" not in told


@pytest.mark.parametrize(("text", "value"), [("0", 0), ("1", 1), ("0.25", 0.25), ("100%", 1), (" 12.5% ", 0.125)])
def test_a_share(text: str, value: float) -> None:
    assert share(text) == value


@pytest.mark.parametrize("text", ["", "-0.1", "101%", "1.01", "half", "1e-3", "nan"])
def test_what_is_no_share(text: str) -> None:
    with pytest.raises(ValueError, match="is not a share"):
        share(text)


def test_a_file_to_write_need_not_be_there_but_its_folder_must(tmp_path: Path) -> None:
    existing = tmp_path / "there"
    existing.write_text("")

    assert [writable_file(str(path)) for path in (existing, tmp_path / "new")] == [existing, tmp_path / "new"]
    for path in (tmp_path, tmp_path / "gone" / "new", existing / "new", tmp_path / ("x" * 300), tmp_path / "a\0b"):
        with pytest.raises(ValueError, match="cannot write "):
            writable_file(str(path))
