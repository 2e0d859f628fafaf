"""Files as k6, its users and the hosts' tools really wrote them, each by itself; and a run folder with damage.

Every one of them is read as something, or set aside with a reason; nothing else may happen, and
one file alone is never a VALID run.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from auditor.engine.audit import Audit, audit
from auditor.engine.policy import load_policy
from auditor.errors import AuditError
from auditor.ingest.bundle import read_run
from auditor.ingest.sniff import sniff
from tests.builder import Run, Scenario
from tests.conftest import Recorded, recorded_files
from tests.rules.cases import RULES

PLACES = ("facts/k6_examples", "real")


FILES = recorded_files(*(f"{place}/**/*" for place in PLACES))


def judged(folder: Path) -> Audit:
    policy = load_policy(None, {"warmup": ("0s", "--warmup")}, RULES)
    return audit(read_run([folder]), policy, RULES)


def own_copy(name: str, folder: Path) -> Path:
    target = folder / Path(name).name
    shutil.copyfile(FILES[name], target)  # the shared data may be read-only: its mode is not taken over
    return target


@pytest.mark.parametrize("name", FILES, ids=str)
def test_every_file_is_read_or_set_aside_for_a_reason(name: str, tmp_path: Path) -> None:
    path = own_copy(name, tmp_path)
    what = sniff(path)
    assert what.kind != "other" or what.reason.strip()
    refused: AuditError | None = None
    try:
        evidence = read_run([path])
    except AuditError as error:
        refused = error
    if refused is not None:
        # Host metrics, logs and scripts are evidence, but not of a run by themselves.
        assert what.kind not in ("points", "console", "options"), refused
        assert refused.what
        assert refused.fix
        return
    assert what.kind != "other"
    assert [source.path for source in evidence.sources] == [path.name]
    assert evidence.sources[0].format
    assert all(ignored.reason.strip() for ignored in evidence.ignored)
    result = judged(path)
    assert result.verdict in ("INVALID", "NOT PROVEN")
    assert not [(r.id, r.reason, r.traceback) for r in result.results if r.outcome == "error"]


EXAMPLES = "facts/k6_examples"
KINDS = {  # what it must be, or what the reason for setting it aside must name
    f"{EXAMPLES}/mixed_v1.1.0.json.gz": ("points", ""),
    f"{EXAMPLES}/mixed_v2.2.0.json.gz": ("points", ""),
    f"{EXAMPLES}/dropped_v2.2.0.json.gz": ("points", ""),
    f"{EXAMPLES}/killed_truncated_v1.1.0.json.gz": ("points", ""),
    f"{EXAMPLES}/killed_truncated_v2.2.0.json.gz": ("points", ""),
    f"{EXAMPLES}/json_stdout_killed_truncated_v2.2.0.out": ("points", ""),
    f"{EXAMPLES}/interrupted_v2.2.0.json": ("points", ""),
    f"{EXAMPLES}/segment_1of3_v2.2.0.filtered.json": ("points", ""),
    f"{EXAMPLES}/weird_values_v1.1.0.json": ("points", ""),
    f"{EXAMPLES}/inspect_plain_req_v1.1.0.json": ("options", ""),
    f"{EXAMPLES}/inspect_seg_req_v2.2.0.json": ("options", ""),
    f"{EXAMPLES}/inspect_short_v1.1.0.json": ("options", ""),
    f"{EXAMPLES}/inspect_short_env_req_v2.2.0.json": ("options", ""),
    f"{EXAMPLES}/banner_stages_v1.1.0.stdout.txt": ("console", ""),
    f"{EXAMPLES}/banner_override_v2.2.0.stdout.txt": ("console", ""),
    f"{EXAMPLES}/mixed_v2.2.0.stdout.txt": ("console", ""),
    f"{EXAMPLES}/console_tty_ansi_v2.2.0.txt": ("console", ""),
    f"{EXAMPLES}/summary_mode_legacy_v1.1.0.stdout.txt": ("console", ""),
    f"{EXAMPLES}/dropped_v2.2.0.stderr.txt": ("log", ""),
    f"{EXAMPLES}/errors_v1.1.0.stderr.txt": ("log", ""),
    f"{EXAMPLES}/sigint_v2.2.0.stderr.txt": ("log", ""),
    f"{EXAMPLES}/log_format_json_v1.1.0.stderr.txt": ("log", ""),
    f"{EXAMPLES}/cardinality_warning_logformat_json_v2.2.0.log": ("log", ""),
    f"{EXAMPLES}/dropped_v1.1.0.csv.gz": ("points|other", "CSV"),
    f"{EXAMPLES}/csv_timeformat_unix_nano_v2.2.0.csv": ("points|other", "CSV"),
    f"{EXAMPLES}/mixed_v2.2.0.summary_export.json": ("summary|other", "summary"),
    f"{EXAMPLES}/handleSummary_data_legacy_v1.1.0.json": ("summary|other", "summary"),
    f"{EXAMPLES}/summary_export_machine_readable_v2.2.0.json": ("summary|other", "summary"),
    f"{EXAMPLES}/archive_metadata_v2.2.0.json": ("archive|other", "archive"),
    f"{EXAMPLES}/archive_v1.1.0.tar": ("archive|other", "archive"),
    f"{EXAMPLES}/dashboard_record_v2.2.0.ndjson": ("other", "dashboard"),
    f"{EXAMPLES}/dashboard_report_v2.2.0.html": ("other", "page"),
    f"{EXAMPLES}/scripts/load.js": ("script|other", "script"),
    f"{EXAMPLES}/externally_controlled_v2.2.0.stdout.txt": ("other", "empty"),
    f"{EXAMPLES}/opentelemetry_v2.2.0.otlp.bin": ("other", "binary"),
    "real/host/generated/sadf_j_A.json": ("host", "sadf"),
    "real/host/generated/sadf_j_de_DE.json": ("host", "sadf"),
    "real/host/generated/sadf_j_midnight.json": ("host", "sadf"),
    "real/host/generated/sa_1s.bin": ("other", "binary"),
    "real/host/generated/vmstat_plain.txt": ("other", "not a known format"),
    "real/host/generated/prom_query_range_cpu_busy_pct.json": ("other", "JSON of no known format"),
    "real/host/sysstat_issues/sysstat__sysstat__issue128__sadf_11.2.0_decimal_comma.json": ("other", "record it again"),
    "real/host/sysstat_issues/sysstat__sysstat__issue216__mpstat_11.6.0_missing_timestamp_objects.json": ("other", "record it again"),
    "real/k6/console/SimonGomezUniv__k6-load__k6-output.txt": ("console", ""),  # UTF-16 of a Windows shell
    "real/k6/console/gs10111__teste-de-desempenho__results_spike.txt": ("console", ""),
    "real/k6/inspect/grafana__k6__issue3890__inspect_stages_only.json": ("options", ""),
    "real/k6/ndjson/pugpp__k6-learning__dashboards_test_result.json": ("points", ""),
    "real/k6/ndjson/grafana__xk6-dashboard__dashboard_testdata_result.json.gz": ("points", ""),
    "real/k6/dashboard_ndjson/grafana__xk6-dashboard__dashboard_testdata_result.ndjson.gz": ("other", "dashboard"),
    "real/k6/csv/pugpp__k6-learning__result.csv": ("points|other", "CSV"),
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_what_a_file_is(name: str, recorded: Recorded) -> None:
    kinds, word = KINDS[name]
    what = sniff(recorded(name))
    assert what.kind in kinds.split("|")
    assert word in f"{what.label} {what.reason}"


@pytest.mark.parametrize("version", ["v1.1.0", "v2.2.0"])
def test_a_killed_run_s_points_are_torn(version: str) -> None:
    result = judged(FILES[f"{EXAMPLES}/killed_truncated_{version}.json.gz"])
    found = next(r for r in result.results if r.id == "EV01")
    assert (found.outcome, found.severity) == ("fail", "invalid")
    assert "breaks off" in found.reason


def test_the_pinned_files_are_there(shared: Path) -> None:
    assert len(KINDS) >= 25
    assert not set(KINDS) - set(FILES)
    assert len(FILES) > 400


# --- damage to a whole folder -----------------------------------------------------------------------------

NAMES = ("console.txt", "exit_code", "host.csv", "inspect.json", "k6.json", "log.txt")
SMALL = Run(scenarios=[Scenario(rate=50, duration_s=2)], log="x\n")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a healthy run of 100 iterations."""
    assert isinstance(SMALL, Run)
    folder = SMALL.write(tmp_path_factory.mktemp("small"))
    smoke = load_policy(None, {"warmup": ("0s", "--warmup"), "purpose": ("smoke", "--purpose")}, RULES)
    assert audit(read_run([folder]), smoke, RULES).verdict == "VALID"
    found = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert sorted(found) == list(NAMES)
    return found


def verdict_of(contents: dict[str, bytes], folder: Path) -> str:
    """The verdict as a smoke test, or "refused"; whatever else is raised is a fault."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, data in contents.items():
        (folder / name).write_bytes(data)
    smoke = load_policy(None, {"warmup": ("0s", "--warmup"), "purpose": ("smoke", "--purpose")}, RULES)
    try:
        result = audit(read_run([folder]), smoke, RULES)
    except AuditError:
        return "refused"
    broken = [(r.id, r.reason, r.traceback) for r in result.results if r.outcome == "error"]
    assert not broken
    return result.verdict


@st.composite
def damaged(draw: st.DrawFn, data: bytes) -> bytes:
    """Bytes flipped, cut out or put in, at some places."""
    out = bytearray(data)
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, max(len(out) - 1, 0)))
        match draw(st.sampled_from(("flip", "delete", "insert"))):
            case "flip" if out:
                out[at] ^= draw(st.integers(1, 255))
            case "delete":
                del out[at : at + draw(st.integers(1, 400))]
            case _:
                out[at:at] = draw(st.binary(max_size=20))
    return bytes(out)


PATIENT = settings(
    max_examples=60,
    deadline=20_000,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@PATIENT
@given(data=st.data())
def test_damage_to_any_file_breaks_nothing(
    data: st.DataObject, small: dict[str, bytes], tmp_path: Path
) -> None:
    name = data.draw(st.sampled_from(NAMES))
    verdict_of({**small, name: data.draw(damaged(small[name]))}, tmp_path / "run")


@PATIENT
@given(data=st.data())
def test_arbitrary_bytes_in_any_file_break_nothing(
    data: st.DataObject, small: dict[str, bytes], tmp_path: Path
) -> None:
    name = data.draw(st.sampled_from(NAMES))
    found = verdict_of({**small, name: data.draw(st.binary(max_size=300))}, tmp_path / "run")
    if name in ("k6.json", "host.csv", "inspect.json"):
        assert found != "VALID"


@PATIENT
@given(start=st.integers(0, 10**6), length=st.integers(400, 50_000))
def test_a_part_of_the_points_cut_out_is_never_valid(
    start: int, length: int, small: dict[str, bytes], tmp_path: Path
) -> None:
    """400 bytes and more are at least one whole sample, and all but the gauges and Metric lines belong to sets."""
    points = small["k6.json"]
    first = points.index(b'"metric":"http_reqs","type":"Point"')
    at = first + start % (len(points) - first - length) if length < len(points) - first else first
    cut = points[:at] + points[at + length :]
    assert verdict_of({**small, "k6.json": cut}, tmp_path / "run") != "VALID"
