"""Sign-off and verification from the command line: what is refused, and that no alteration gets through."""

from __future__ import annotations

import datetime
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner

from auditor.cli.app import app
from auditor.errors import AuditError
from auditor.signoff.statement import digest, render
from tests.builder import Run, Scenario

POLICY = """
warmup = "5s"
[declarations]
synthetic_data = true
rate_limiter = "token"
generator_network = "same region, private network"
git_commit = "9fceb02"
k6_version = "1.1.0"
colocated = false
"""
STATEMENT = {
    "type": "object",
    "required": ["_type", "subject", "predicateType", "predicate"],
    "additionalProperties": False,
    "properties": {
        "_type": {"const": "https://in-toto.io/Statement/v1"},
        "predicateType": {"const": "https://in-toto.io/attestation/test-result/v0.1"},
        "subject": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["name", "digest"],
                "properties": {
                    "digest": {
                        "type": "object",
                        "required": ["sha256"],
                        "properties": {"sha256": {"pattern": "^[0-9a-f]{64}$"}},
                    }
                },
            },
        },
        "predicate": {
            "type": "object",
            "required": ["result", "configuration", "passedTests", "warnedTests", "failedTests"],
            "properties": {
                "result": {"enum": ["PASSED", "WARNED"]},
                "configuration": {"type": "array", "items": {"required": ["name", "digest"]}},
                "passedTests": {"type": "array", "items": {"type": "string"}},
                "warnedTests": {"type": "array", "items": {"type": "string"}},
                "failedTests": {"maxItems": 0},
            },
        },
    },
}
"""in-toto Statement v1 with the test-result predicate, as far as both are used here."""


def call(*arguments: object) -> tuple[int, str]:
    """The command in this process: exit code (2 for an error of the user) and what it printed."""
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    if isinstance(result.exception, AuditError):
        return 2, str(result.exception)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of its own policy, its report and its sign-off."""
    place = tmp_path_factory.mktemp("signoff")
    folder = Run([Scenario(rate=40, duration_s=65)]).write(place / "run")
    (folder / "k6-audit.toml").write_text(POLICY)
    assert call("report", folder, "-o", place / "report.html")[0] == 0
    code, said = call(
        "signoff", folder, "--report", place / "report.html", "--by", "Ann Other", "-o", place / "signoff.json"
    )
    assert code == 0, said
    assert "unsigned" in said
    return place


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "it")
    return tmp_path / "it"


def verify(place: Path, *more: object) -> tuple[int, str]:
    return call(
        "verify", place / "signoff.json", "--run", place / "run", "--report", place / "report.html", *more
    )


def statement(place: Path) -> Any:
    return json.loads((place / "signoff.json").read_text())


def test_what_is_signed_verifies(place: Path) -> None:
    code, said = verify(place)
    assert code == 0, said
    assert "VERIFIED" in said
    assert "Ann Other" in said
    assert "unsigned" in said


def test_the_statement_is_in_toto_and_says_what_it_must(place: Path) -> None:
    found = statement(place)
    jsonschema.validate(found, STATEMENT)
    predicate = found["predicate"]
    assert predicate["verdict"] == "VALID"
    assert predicate["result"] == ("WARNED" if predicate["warnedTests"] else "PASSED")
    assert predicate["signedBy"] == "Ann Other"
    assert "unsigned" in predicate["signature"]
    assert set(predicate["header"]) >= {"target_rate", "p999"}
    assert [s["annotations"]["role"] for s in found["subject"]].count("report") == 1
    inputs = {s["name"] for s in found["subject"] if s["annotations"]["role"] == "input"}
    assert {"k6.json", "console.txt", "inspect.json", "host.csv"} <= inputs


def test_it_is_deterministic_apart_from_the_time(place: Path) -> None:
    again = place / "again.json"
    assert (
        call("signoff", place / "run", "--report", place / "report.html", "--by", "Ann Other", "-o", again)[0]
        == 0
    )
    first, second = statement(place), json.loads(again.read_text())
    for one in (first, second):
        del one["predicate"]["time"], one["predicate"]["statementDigest"]
    assert first == second


# --- refusals -------------------------------------------------------------------------------------------


def refused(folder: Path, out: Path, *more: object) -> tuple[int, str]:
    code, said = call("signoff", folder, "--by", "Ann", "-o", out, *more)
    assert not out.exists()
    return code, said


def test_an_invalid_run_is_refused(tmp_path: Path) -> None:
    starts = [s for i, s in enumerate(Scenario().slots_s()) if i % 4]
    folder = Run([Scenario(starts_s=starts)]).write(tmp_path / "run")
    (folder / "k6-audit.toml").write_text(POLICY)
    code, said = refused(folder, tmp_path / "s.json")
    assert code == 1
    assert "INVALID" in said
    assert "OL01" in said


def test_a_run_that_is_not_proven_is_refused(place: Path) -> None:
    (place / "run" / "host.csv").unlink()
    code, said = refused(place / "run", place / "s.json")
    assert code == 3
    assert "NOT PROVEN" in said
    assert "GH01" in said


def test_a_run_without_declarations_is_refused(place: Path) -> None:
    (place / "run" / "k6-audit.toml").unlink()
    code, said = refused(place / "run", place / "s.json", "--warmup", "5s")
    assert code == 1
    assert all(rule in said for rule in ("SC02", "SC03", "SC05", "EV09", "GH10"))


def test_an_edited_report_is_refused(place: Path) -> None:
    report = place / "report.html"
    report.write_text(
        report.read_text().replace('data-field="p99" data-value="', 'data-field="p99" data-value="9')
    )
    code, said = refused(place / "run", place / "s.json", "--report", report)
    assert code == 1
    assert "HD13" in said


def test_an_expired_waiver_covers_nothing(place: Path) -> None:
    config = place / "run" / "k6-audit.toml"
    config.write_text(POLICY.replace("synthetic_data = true", "synthetic_data = false") + waiver("2001-01-01"))
    code, said = refused(place / "run", place / "s.json")
    assert code == 1
    assert "SC02" in said


def test_a_policy_that_lets_no_warning_pass(place: Path) -> None:
    config = place / "run" / "k6-audit.toml"
    config.write_text('fail_on = "warning"\n' + POLICY.replace("colocated = false", "colocated = true"))
    code, said = refused(place / "run", place / "s.json")
    assert code == 1
    assert "GH10" in said


def test_what_cannot_run_is_2(place: Path) -> None:
    assert call("signoff", place / "run", "--by", " ", "-o", place / "s.json")[0] == 2
    assert (
        call("signoff", place / "run", "--by", "A", "-o", place / "s.json", "--report", place / "none")[0] == 2
    )
    assert call("verify", place / "none.json", "--run", place / "run")[0] == 2
    assert call("verify", place / "signoff.json", "--run", place / "none")[0] == 2
    assert call("signoff", place / "run", "--by", "A", "-o", place / "no" / "s.json")[0] == 2


# --- waivers --------------------------------------------------------------------------------------------


def waiver(expires: str) -> str:
    return f'\n[[waivers]]\nrule = "SC02"\nreason = "masked copy, agreed"\nowner = "Bo"\nexpires = {expires}\n'


def with_waiver(place: Path, expires: str) -> None:
    config = place / "run" / "k6-audit.toml"
    config.write_text(POLICY.replace("synthetic_data = true", "synthetic_data = false") + waiver(expires))


def test_a_waiver_is_named_and_runs_out(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tomorrow = datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days=1)
    with_waiver(place, tomorrow.isoformat())
    out = place / "signoff.json"
    code, said = call("signoff", place / "run", "--by", "Ann", "-o", out, "--force")
    assert code == 0, said
    assert "1 waived" in said
    predicate = statement(place)["predicate"]
    assert predicate["result"] == "WARNED"
    assert "SC02" in predicate["warnedTests"]
    assert predicate["waivers"][0]["reason"] == "masked copy, agreed"
    assert call("verify", out, "--run", place / "run")[0] == 0

    later = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=3)

    class Later(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Any:
            return later

    monkeypatch.setattr(datetime, "datetime", Later)
    code, said = call("verify", out, "--run", place / "run")
    assert code == 1
    assert "expired on" in said
    assert "SC02" in said


def test_a_waiver_that_was_changed_or_taken_out(place: Path) -> None:
    far = (datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days=90)).isoformat()
    with_waiver(place, far)
    out = place / "signoff.json"
    assert call("signoff", place / "run", "--by", "Ann", "-o", out, "--force")[0] == 0
    config = place / "run" / "k6-audit.toml"
    text = config.read_text()
    for changed in (
        text.replace("agreed", "agreed?"),
        text.replace('"Bo"', '"Cy"'),
        text.split("[[waivers]]")[0],
    ):
        config.write_text(changed)
        code, said = call("verify", out, "--run", place / "run")
        assert code == 1
        assert "waiver" in said


# --- attacks on what is verified --------------------------------------------------------------------------


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at % len(data)] ^= 0x01
    path.write_bytes(bytes(data))


def test_one_byte_of_any_input(made: Path, tmp_path: Path) -> None:
    names = [s["name"] for s in statement(made)["subject"] if s["annotations"]["role"] == "input"]
    assert len(names) >= 4
    for name in names:
        copy = tmp_path / name
        shutil.copytree(made, copy)
        path = copy / "run" / name
        if path.stat().st_size:
            flip(path, path.stat().st_size // 2)
        else:
            path.write_bytes(b"\n")
        code, said = verify(copy)
        assert code == 1, name
        assert name in said


def test_one_byte_of_the_report(place: Path) -> None:
    size = (place / "report.html").stat().st_size
    original = (place / "report.html").read_bytes()
    for at in (0, size // 2, size - 1):
        flip(place / "report.html", at)
        code, said = verify(place)
        assert code == 1
        assert "report report.html: changed" in said
        (place / "report.html").write_bytes(original)
    code, said = call("verify", place / "signoff.json", "--run", place / "run")
    assert code == 1
    assert "report report.html: missing" in said


def test_bytes_of_the_statement(place: Path) -> None:
    path = place / "signoff.json"
    original = path.read_bytes()
    for at in range(0, len(original), max(1, len(original) // 12)):
        flip(path, at)
        assert verify(place)[0] == 1, (at, original[max(0, at - 20) : at + 20])
        path.write_bytes(original)
    for text in (original + b" ", original.replace(b"  ", b" "), b"", b"[]", b"{}", b"\xff", b"null"):
        path.write_bytes(text)
        code, said = verify(place)
        assert code == 1
        assert "statement" in said


def altered(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return value + "x"
        case list():
            return [*value, "x"]
        case dict():
            return {**value, "x": 1}
    return "x"


def test_every_member_of_the_statement(place: Path) -> None:
    """Also where whoever altered it made a new digest: then the recomputation tells."""
    path = place / "signoff.json"
    original = statement(place)
    recomputed = {"options", "signedBy", "time", "statementDigest"}
    for name in original["predicate"]:
        forged = json.loads(json.dumps(original))
        forged["predicate"][name] = altered(forged["predicate"][name])
        path.write_text(render(forged))
        code, said = verify(place)
        assert code == 1, name
        assert "statement" in said
        if name in recomputed:
            continue
        forged["predicate"]["statementDigest"] = {"sha256": digest(forged)}
        path.write_text(render(forged))
        code, said = verify(place)
        assert code == 1, name
        assert "changed after it was written" not in said
    edits: tuple[Callable[[Any], object], ...] = (
        lambda s: s["subject"].pop(),
        lambda s: s["subject"].append({"name": "x", "digest": {"sha256": "0" * 64}}),
        lambda s: s["subject"][-1]["digest"].update(sha256="0" * 64),
        lambda s: s["subject"][-1].update(name="other.txt"),
        lambda s: s["subject"][-1].update(annotations={"role": "other"}),
        lambda s: s.update(extra=1) or s["predicate"].update(extra=1),
    )
    for edit in edits:
        forged = json.loads(json.dumps(original))
        edit(forged)
        forged["predicate"]["statementDigest"] = {"sha256": digest(forged)}
        path.write_text(render(forged))
        assert verify(place)[0] == 1


def test_other_options(place: Path) -> None:
    path = place / "signoff.json"
    for options in ({"warmup": "6s"}, {"targetRate": "90"}, {"noConfig": True}, {"warmup": 5}):
        forged = statement(place)
        forged["predicate"]["options"] |= options
        path.write_text(render(forged))
        assert verify(place)[0] == 1
        forged["predicate"]["statementDigest"] = {"sha256": digest(forged)}
        path.write_text(render(forged))
        code, said = verify(place)
        assert code == 1, options
        assert "digest" not in said.split("policy")[0] or "policy" in said


def test_another_policy(place: Path) -> None:
    (place / "run" / "k6-audit.toml").write_text(POLICY.replace("9fceb02", "9fceb03"))
    code, said = verify(place)
    assert code == 1
    assert "policy" in said
    assert "9fceb03" in said


def test_another_run(place: Path) -> None:
    shutil.rmtree(place / "run")
    Run([Scenario(duration_s=66)]).write(place / "run")
    (place / "run" / "k6-audit.toml").write_text(POLICY)
    code, said = verify(place)
    assert code == 1
    assert "input k6.json: changed" in said


def test_a_removed_file_and_one_too_many(place: Path) -> None:
    for name in ("host.csv", "k6.json", "console.txt"):
        moved = place / name
        shutil.move(place / "run" / name, moved)
        code, said = verify(place)
        assert code == 1, name
        assert f"input {name}: missing" in said
        shutil.move(moved, place / "run" / name)
    assert verify(place)[0] == 0
    (place / "run" / "host2.csv").write_text((place / "run" / "host.csv").read_text())
    code, said = verify(place)
    assert code == 1
    assert "host2.csv: not among what was signed" in said
    (place / "run" / "host2.csv").unlink()
    (place / "run" / "notes.md").write_text("no evidence\n")
    assert verify(place)[0] == 0


def relabel(predicate: dict[str, Any]) -> None:
    predicate["verdict"] = predicate["verdictWords"] = "VALID"
    predicate["failedTests"] = []
    for rule, outcome in predicate["outcomes"].items():
        if outcome in ("fail:invalid", "unknown"):
            predicate["outcomes"][rule] = "pass"


@pytest.mark.parametrize("what", ["INVALID", "NOT PROVEN"])
def test_a_relabelled_run(what: str, place: Path, tmp_path: Path) -> None:
    """A statement made, by other means, of a run that may not be signed off."""
    from auditor.cli.request import AuditRequest
    from auditor.cli.signoff import audit_to_sign
    from auditor.engine.loader import rules_digest
    from auditor.signoff.statement import SignedWith, build

    config = place / "run" / "k6-audit.toml"
    if what == "INVALID":
        config.write_text(POLICY.replace('rate_limiter = "token"', 'rate_limiter = "off"'))
    else:
        (place / "run" / "host.csv").unlink()
    given: dict[str, Any] = {"warmup": None, "targetRate": None, "hosts": [], "rules": [], "noConfig": False}
    result = audit_to_sign(AuditRequest([place / "run"]), given)
    assert result.verdict == what
    forged = build(result, None, SignedWith("Mallory", "2026-01-01T00:00:00Z", given), rules_digest())
    relabel(forged["predicate"])
    forged["predicate"]["statementDigest"] = {"sha256": digest(forged)}
    (place / "signoff.json").write_text(render(forged))
    code, said = call("verify", place / "signoff.json", "--run", place / "run")
    assert code == 1
    assert f"signed VALID, now {what}" in said


def test_an_honest_statement_of_an_invalid_run_is_no_signoff(place: Path) -> None:
    from auditor.cli.request import AuditRequest
    from auditor.cli.signoff import audit_to_sign
    from auditor.engine.loader import rules_digest
    from auditor.signoff.statement import SignedWith, build

    (place / "run" / "host.csv").unlink()
    given: dict[str, Any] = {"warmup": None, "targetRate": None, "hosts": [], "rules": [], "noConfig": False}
    result = audit_to_sign(AuditRequest([place / "run"]), given)
    made = build(result, None, SignedWith("Mallory", "2026-01-01T00:00:00Z", given), rules_digest())
    (place / "signoff.json").write_text(render(made))
    code, said = call("verify", place / "signoff.json", "--run", place / "run")
    assert code == 1
    assert "NOT PROVEN" in said


def edit_member(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda predicate: predicate.update({name: value})


@pytest.mark.parametrize(
    "edit",
    [
        edit_member("tool", {"name": "k6-auditor", "version": "0.0.1"}),
        edit_member("semanticsVersion", "2"),
        lambda p: p["configuration"][1].update(digest={"sha256": "0" * 64}),
    ],
)
def test_other_rules_are_called_so(edit: Callable[[dict[str, Any]], None], place: Path) -> None:
    made = statement(place)
    edit(made["predicate"])
    made["predicate"]["statementDigest"] = {"sha256": digest(made)}
    (place / "signoff.json").write_text(render(made))
    code, said = verify(place)
    assert code == 1
    lines = [line for line in said.splitlines() if line.startswith("  ")]
    assert lines
    assert all(line.startswith("  other rules: ") for line in lines), said


@pytest.mark.parametrize(
    ("version", "said"),
    [
        (1, "made under semantics 1; this version computes semantics 2: sign off again"),
        (
            3,
            "made under semantics 3; this version computes semantics 2: verify it with the version that made it",
        ),
    ],
)
def test_a_statement_of_other_semantics_is_refused_with_that_reason(
    version: int, said: str, place: Path
) -> None:
    """An older statement's figures differ by definition: none is listed, and nothing is called changed."""
    made = statement(place)
    assert made["predicate"]["semanticsVersion"] == 2
    made["predicate"]["semanticsVersion"] = version
    made["predicate"]["header"]["target_rate"]["value"] = 7.0
    made["predicate"]["statementDigest"] = {"sha256": digest(made)}
    (place / "signoff.json").write_text(render(made))
    code, told = verify(place)
    assert code == 1
    assert told.splitlines()[0].startswith("NOT VERIFIED  ")
    assert told.splitlines()[1:] == [f"  other rules: {said}"]


def test_a_statement_of_other_semantics_that_was_changed_says_both(place: Path) -> None:
    made = statement(place)
    made["predicate"]["semanticsVersion"] = 1
    (place / "signoff.json").write_text(render(made))
    code, told = verify(place)
    assert code == 1
    assert told.splitlines()[1:] == [
        "  statement: it was changed after it was written (its digest differs)",
        "  other rules: made under semantics 1; this version computes semantics 2: sign off again",
    ]
