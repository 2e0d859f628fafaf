"""The installed command, end to end: streams, exit codes, formats, errors in one line, inputs untouched."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from tests.builder import Answer, Run, Scenario
from tests.command import COMMAND, process, run
from tests.conftest import ROOT

HEAVY = ("pandas", "pyarrow", "scipy", "numpy", "numba", "pydantic", "upath", "fsspec", "distributed")


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Run().write(tmp_path_factory.mktemp("cli") / "healthy")


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A quarter of the starts missing."""
    slots = Scenario().slots_s()
    starts = [s for i, s in enumerate(slots) if i % 4]
    return Run([Scenario(starts_s=starts)]).write(tmp_path_factory.mktemp("cli") / "short")


def test_valid_is_0_and_says_so_in_words(healthy: Path) -> None:
    done = process("lint", healthy, "--warmup", "5s")
    assert done.returncode == 0, done.stdout
    assert "VALID" in done.stdout
    assert "This run may be believed" in done.stdout
    labels = [
        "Target rate",
        "Achieved rate",
        "Dropped iterations",
        "Generator CPU",
        "Test duration",
        "Warm-up excluded",
        "p50",
        "p90",
        "p95",
        "p99",
        "p99.9",
    ]
    places = [done.stdout.index(f"\n{label} ") for label in labels]
    assert places == sorted(places)
    assert "read k6.json as k6 JSON points" not in done.stdout
    assert done.stderr == ""
    assert "read k6.json as k6 JSON points" in run("lint", healthy, "--warmup", "5s", "--verbose").stdout


def test_invalid_is_1_and_names_the_cause_and_the_fix(short: Path) -> None:
    done = process("lint", short, "--warmup", "5s")
    assert done.returncode == 1
    assert "INVALID OL01" in done.stdout
    assert "→" in done.stdout


@pytest.mark.parametrize(("without", "rule"), [("host.csv", "GH01"), ("inspect.json", "WM04")])
def test_missing_evidence_is_3_and_names_the_fix(tmp_path: Path, without: str, rule: str) -> None:
    folder = Run().write(tmp_path / "run")
    (folder / without).unlink()
    done = run("lint", folder, "--warmup", "5s")
    assert done.returncode == 3
    assert "NOT PROVEN" in done.stdout
    assert rule in done.stdout


def test_no_warmup_is_3(healthy: Path) -> None:
    done = run("lint", healthy)
    assert done.returncode == 3
    assert "--warmup" in done.stdout


def test_json_is_alone_on_stdout_and_follows_its_schema(healthy: Path, short: Path) -> None:
    schema = json.loads((ROOT / "auditor" / "present" / "result_v1.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    for folder, verdict in ((healthy, "VALID"), (short, "INVALID")):
        done = run("lint", folder, "--warmup", "5s", "--format", "json")
        result = json.loads(done.stdout)
        jsonschema.validate(result, schema)
        assert result["schema_version"] == "1.0"
        assert result["semantics_version"] == 2
        assert result["verdict"] == verdict
        digest = hashlib.sha256((folder / "k6.json").read_bytes()).hexdigest()
        assert next(s for s in result["sources"] if s["path"] == "k6.json")["sha256"] == digest


def test_several_outputs_at_once_and_the_code_does_not_depend_on_them(short: Path, tmp_path: Path) -> None:
    out, text = tmp_path / "r.json", tmp_path / "r.txt"
    done = run("lint", short, "--warmup", "5s", "--output", f"json={out}", "--output", f"text={text}")
    assert done.returncode == 1
    assert json.loads(out.read_text())["verdict"] == "INVALID"
    assert "INVALID" in text.read_text()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.json", "r.txt"]


def test_exit_zero_and_fail_on(healthy: Path, short: Path) -> None:
    assert run("lint", short, "--warmup", "5s", "--exit-zero").returncode == 0
    assert run("lint", "nowhere", "--exit-zero").returncode == 2
    done = run("lint", healthy, "--warmup", "5s", "--fail-on", "warning", "--format", "json")
    assert json.loads(done.stdout)["verdict"] == "VALID"
    assert done.returncode == 1  # a window under 60 s is a warning


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["lint", "nowhere"], "no such file or folder"),
        (["lint", "{empty}"], "no evidence of a k6 run"),
        (["lint", "/dev/null"], "neither a file nor a folder"),
        (["lint", "{healthy}", "--warmup", "5"], "not a duration"),
        (["lint", "{healthy}", "--target-rate", "fast"], "not a rate"),
        (["lint", "{healthy}", "--config", "nowhere.toml"], "no such config"),
        (["lint", "{healthy}", "--output", "pdf=x"], "not an output"),
        (["lint", "{healthy}", "--rules", "nowhere"], "no such folder of rules"),
        (["rule", "OL0X"], "no rule"),
    ],
)
def test_errors_are_one_line_and_2(arguments: list[str], says: str, healthy: Path, tmp_path: Path) -> None:
    filled = [a.format(empty=tmp_path, healthy=healthy) for a in arguments]
    done = run(*filled)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_a_latency_metric_cannot_hide_failures(tmp_path: Path) -> None:
    failing = Run([Scenario(answer=lambda i, s: Answer(20.0, failed=i % 5 == 0))]).write(tmp_path / "run")
    for metric in ("iteration_duration", "wait_for_token"):
        (failing / "k6-audit.toml").write_text(f'warmup = "5s"\nlatency_metric = "{metric}"\n')
        assert run("lint", failing).returncode != 0, metric


def test_streams_that_are_closed_or_lack_characters(healthy: Path) -> None:
    ascii_only = process("lint", healthy, "--warmup", "5s", PYTHONIOENCODING="ascii")
    assert ascii_only.returncode == 0, ascii_only.stderr
    closed = subprocess.run(
        f"'{COMMAND}' lint '{healthy}' --warmup 5s >&-",
        shell=True, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert "Traceback" not in closed.stderr
    assert "internal error" not in closed.stderr


def test_config_errors_come_all_at_once_with_the_nearest_key(healthy: Path, tmp_path: Path) -> None:
    config = tmp_path / "k6-audit.toml"
    config.write_text(
        'warmpu = "5s"\ntarget_rate = "fast"\n[limits.OL01]\ndeviation = "x"\n[[waivers]]\nrule = "OL01"\n'
    )
    done = run("lint", healthy, "--config", config)
    assert done.returncode == 2
    assert "unknown key 'warmpu'; did you mean 'warmup'?" in done.stderr
    assert "target_rate" in done.stderr
    assert "limits.OL01.deviation" in done.stderr
    assert "waivers.0.reason" in done.stderr
    assert done.stderr.count("\n") == 1


def test_config_is_found_beside_the_run_and_options_win(tmp_path: Path) -> None:
    folder = Run().write(tmp_path / "run")
    (folder / "k6-audit.toml").write_text('warmup = "5s"\n')
    done = run("lint", folder, "--format", "json")
    result = json.loads(done.stdout)
    assert result["header"]["warmup_excluded"]["value"] == 5
    done = run("lint", folder, "--warmup", "10s", "--format", "json")
    assert json.loads(done.stdout)["header"]["warmup_excluded"]["value"] == 10
    assert run("lint", folder, "--no-config").returncode == 3
    shown = run("config", "show", folder)
    assert "warmup = 5s" in shown.stdout
    assert "k6-audit.toml" in shown.stdout


def test_the_installed_command_says_what_it_says_in_this_process(healthy: Path, tmp_path: Path) -> None:
    for arguments in (
        ("lint", healthy),
        ("lint", "nowhere"),
        ("lint", "nowhere", "--no-such-option"),
    ):
        here, there = run(*arguments, cwd=tmp_path), process(*arguments, cwd=tmp_path)
        assert (here.returncode, here.stdout, here.stderr) == (there.returncode, there.stdout, there.stderr)


def test_inputs_are_never_altered(healthy: Path) -> None:
    def state() -> dict[str, tuple[bytes, int]]:
        return {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in healthy.iterdir()}

    before = state()
    run("lint", healthy, "--warmup", "5s")
    assert state() == before


def test_an_output_that_cannot_be_written_leaves_nothing(healthy: Path, tmp_path: Path) -> None:
    done = run("lint", healthy, "--warmup", "5s", "--output", f"json={tmp_path / 'no' / 'x.json'}")
    assert done.returncode == 2
    assert "cannot be written" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_hostile_names_cannot_reach_the_terminal(tmp_path: Path) -> None:
    evil = "a\x1b[31mred\x1b]0;title\x07\u202e[bold]b"
    folder = Run([Scenario(name=evil)]).write(tmp_path / "run")
    (folder / "console.txt").unlink()
    done = run("lint", folder, "--warmup", "5s", "--color", "always")
    assert "\x1b]0;" not in done.stdout
    assert "\u202e" not in done.stdout
    assert "[bold]b" in done.stdout


def test_colours_only_where_wanted(healthy: Path) -> None:
    assert "\x1b[" not in process("lint", healthy, "--warmup", "5s").stdout
    assert "\x1b[" in run("lint", healthy, "--warmup", "5s", "--color", "always").stdout
    assert "\x1b[" not in run("lint", healthy, "--warmup", "5s", "--color", "never", FORCE_COLOR="1").stdout


def test_help_and_version_import_nothing_heavy() -> None:
    code = (
        "import sys\nfrom auditor.cli.app import app\n"
        "try: app(['--help'], standalone_mode=False)\nexcept SystemExit: pass\n"
        f"found = [m for m in {HEAVY!r} if m in sys.modules]\nsys.exit(str(found) if found else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "Exit codes" in done.stdout
    assert "semantics" in process("--version").stdout


def test_rule_prints_its_own_words() -> None:
    done = run("rule", "OL01")
    assert done.returncode == 0
    for heading in (
        "What it checks",
        "Why it matters",
        "How it is computed",
        "How to fix it",
        "When it is wrong",
    ):
        assert f"## {heading}" in done.stdout
    assert len(run("rule", "--all").stdout.splitlines()) >= 60


def test_own_rules_run_and_a_broken_one_blocks(healthy: Path, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    headings = "\n".join(
        f"{h}\n    words\n"
        for h in ("What it checks", "Why it matters", "How it is computed", "How to fix it", "When it is wrong")
    )
    (folder / "mine.py").write_text(
        f'"""\n{headings}"""\nfrom auditor.api import Rule, Timeline\n'
        'RULE = Rule(id="XX01", slug="mine", title="Mine", severity="warning", since="1")\n'
        "def check(timeline: Timeline):\n    raise ZeroDivisionError('oops')\n"
    )
    done = run("lint", healthy, "--warmup", "5s", "--rules", folder, "--format", "json")
    result = json.loads(done.stdout)
    mine = next(r for r in result["rules"] if r["id"] == "XX01")
    assert mine["outcome"] == "error"
    assert "oops" in mine["reason"]
    assert result["verdict"] == "NOT PROVEN"
    assert done.returncode == 3
    (folder / "mine.py").write_text("RULE = 1\n")
    done = run("lint", healthy, "--rules", folder)
    assert done.returncode == 2
    assert "RULE and check" in done.stderr
