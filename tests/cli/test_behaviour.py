"""What a new user tries: pipes that close, misspelt rules, completion, crashes, errors in plain words."""

from __future__ import annotations

import dataclasses
import inspect
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from auditor.cli import app as app_module
from auditor.cli import completion, config, convert, lint, options, report, rule, signoff, streams, verify
from auditor.cli.command import command
from auditor.cli.formats import RENDERERS
from auditor.cli.options import PolicyOptions, RunOptions
from auditor.engine.config_model import Config
from auditor.engine.loader import load_rules
from tests.builder import Run
from tests.command import COMMAND
from tests.conftest import ROOT

SAMPLES = ROOT / "sample_runs"


def main(*arguments: object, monkeypatch: pytest.MonkeyPatch) -> int:
    """The command in this process, as it is installed; its exit code."""
    monkeypatch.setattr(sys, "argv", ["k6-audit", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        app_module.main()
    return int(ended.value.code or 0)


# --- pipes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("lint open_healthy --warmup 5s", 0),
        ("lint vu_starved --warmup 16s --format json", 1),
        ("lint open_healthy --format html", 3),
        ("rule --all", 0),
    ],
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_goes_away_changes_no_exit_code(arguments: str, code: int, unbuffered: str) -> None:
    """The other end of the pipe is closed before the first byte: a harder case than `head -1`."""
    ours, theirs = os.pipe()
    os.close(ours)
    done = subprocess.run(
        [str(COMMAND), *arguments.split()],
        stdout=theirs, stderr=subprocess.PIPE, text=True, timeout=60, check=False, cwd=SAMPLES,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    )  # fmt: skip
    os.close(theirs)
    assert done.returncode == code
    assert done.stderr == ""


def test_head_and_grep() -> None:
    script = (
        f"'{COMMAND}' lint open_healthy --warmup 5s | head -1; echo ${{PIPESTATUS[0]}}\n"
        f"'{COMMAND}' lint open_healthy --warmup 5s | grep -q VALID; echo ${{PIPESTATUS[@]}}\n"
    )
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, timeout=60, check=False, cwd=SAMPLES
    )
    assert done.stdout.split()[-3:] == ["0", "0", "0"]
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_behind_standard_output_is_2() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [str(COMMAND), "rule", "--all"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == "k6-audit: standard output: No space left on device\n"


def test_streams_of_a_test_are_left_alone() -> None:
    there = io.StringIO()
    assert streams.until_gone(there) is there
    closed = streams.until_gone(None)
    assert closed.write("dropped") == 7
    closed.close()


# --- crashes and debugging --------------------------------------------------------------------------------


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("debug", [True, False])
def test_a_crash_of_ours_is_one_line_and_2(
    debug: bool, before: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def breaks(*_: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr("auditor.engine.loader.load_rules", breaks)
    asked = ["--debug"] if debug else []
    arguments = [*asked, "rule", "OL01"] if before else ["rule", "OL01", *asked]
    assert main(*arguments, monkeypatch=monkeypatch) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "k6-audit: internal error (please report): RuntimeError: boom" in said.err
    assert ("Traceback" in said.err) is debug
    assert debug or said.err.count("\n") == 1


def test_an_interrupt_is_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("auditor.engine.loader.load_rules", interrupted)
    assert main("rule", "OL01", monkeypatch=monkeypatch) == 130
    assert capsys.readouterr().err == "k6-audit: interrupted\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("lint {run} --run {run}", "k6-audit: --run is only for linting a report"),
        ("signoff {run} --by= -o x.json", "--by: must not be empty"),
        ("report {run}", "no output file given (name one: -o report.html)"),
        ("report -o r.html", "no run given"),
        ("report --from x.html -o r.html --jobs 2 --select OL", "leave out --select, --jobs"),
        ("lint {run} --warmup 10", "--warmup: not a duration: '10' (write it with a unit"),
        ("lint {run} --target-rate x", "--target-rate: not a rate: 'x'"),
        ("lint {run} --output x", "--output: not an output: 'x' (write FORMAT=PATH with text, json"),
        ("lint {run} --select OL99", "--select: no rule 'OL99' (did you mean OL0"),
        ("lint {run} --ignore dropps", "--ignore: no rule 'dropps' (did you mean dropped-share?)"),
        (
            "lint {run} --select OL01,SD01",
            "--select: no rule 'OL01,SD01' (name them one by one: OL01, then SD01)",
        ),
        ("report {run} -o r.html --select XX", "--select: no rule 'XX'"),
        ("rule OL0X", "no rule 'OL0X' (did you mean OL0"),
        ("lint {run} --scheduler host", "--scheduler: not the address of a Dask scheduler: 'host'"),
    ],
)
def test_errors_are_one_plain_line(
    arguments: str,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    filled = [one.format(run=SAMPLES / "open_healthy") for one in arguments.split()]
    assert main(*filled, monkeypatch=monkeypatch) == 2
    said = capsys.readouterr()
    assert says in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""
    assert list(tmp_path.iterdir()) == []


def test_a_config_error_is_one_plain_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "policy.toml").write_text("warmup = 30\n")
    run = SAMPLES / "open_healthy"
    assert main("lint", run, "--config", tmp_path / "policy.toml", monkeypatch=monkeypatch) == 2
    said = f'k6-audit: {tmp_path / "policy.toml"}: warmup: write "30s": a duration needs its unit\n'
    assert capsys.readouterr().err == said


def test_what_changes_nothing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run().write(tmp_path / "run")
    (run / "k6-audit.toml").write_text('warmup = "5s"\n[scenarios.nobody]\nrole = "support"\n')
    assert main("lint", run, "--format", "json", monkeypatch=monkeypatch) == 0
    assert "scenarios.nobody changes nothing: this run has" in capsys.readouterr().out


# --- options that are declared once -------------------------------------------------------------------------


COMMANDS: tuple[Any, ...] = (lint.lint, report.report, signoff.signoff, verify.verify, convert.convert)


def names(function: Any) -> set[str]:
    return set(inspect.signature(command(function)).parameters)


def test_every_command_that_audits_takes_every_shared_option() -> None:
    shared = {one.name for one in dataclasses.fields(RunOptions)}
    for function in (lint.lint, report.report, signoff.signoff):
        assert shared <= names(function), function
    assert {"host", "rules", "config", "jobs", "scheduler", "memory"} <= names(verify.verify)
    assert {"jobs", "scheduler", "memory"} <= names(convert.convert)
    for function in (*COMMANDS, rule.rule, config.show, config.keys, config.schema):
        assert "debug" in names(function)
        assert "debug" not in inspect.signature(function).parameters
        assert len(inspect.signature(function).parameters) <= 8, function


def test_every_policy_option_is_a_key_of_the_policy() -> None:
    """A new one needs a field here, a key of the model, and the declaration that rules read: no more."""
    for one in dataclasses.fields(PolicyOptions):
        assert one.name in Config.model_fields
    given = RunOptions(warmup="5s", fail_on=options.FailOn.warning, jobs=2)
    assert given.overrides()["warmup"] == ("5s", "--warmup")
    assert given.overrides()["fail_on"] == ("warning", "--fail-on")
    assert given.given() == ["--warmup", "--fail-on", "--jobs"]


def test_formats_are_those_that_can_be_written() -> None:
    formats: Any = lint.Format
    assert [one.value for one in formats] == list(RENDERERS)


# --- completion -----------------------------------------------------------------------------------------------


def test_rules_complete_without_being_run() -> None:
    loaded = {one.meta.id: one.meta.title for one in load_rules()}
    assert dict(completion.rules("")) == loaded
    assert {one for one, _ in completion.rules("ol")} == {one for one in loaded if one.startswith("OL")}
    assert completion.outputs("h") == ["html="]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["lint", "run", "--select", "SD0"], "SD06"),
        (["lint", "run", "--ignore", "GH"], "GH02"),
        (["rule", "OL0"], "OL01"),
        (["lint", "run", "--format", "h"], "html"),
        (["lint", "run", "--output", "j"], "json="),
    ],
)
def test_shells_complete(words: list[str], offered: str) -> None:
    done = subprocess.run(
        [str(COMMAND)],
        env={
            **os.environ,
            "_K6_AUDIT_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(["k6-audit", *words]),
            "COMP_CWORD": str(len(words)),
        },
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert offered in done.stdout.split(), done.stderr
