"""README's recipe, as it is printed there: under sh and bash -e, with stand-ins for k6 and sysstat, and a real k6."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import run
from tests.conftest import ROOT

BIN = Path(sys.executable).parent
RUN = ROOT / "sample_runs" / "open_healthy"
RECIPE = re.search(
    r"^## What to keep of a run\n+```\n(.*?)^```$",
    (ROOT / "README.md").read_text(encoding="utf-8"),
    re.M | re.S,
)
K6 = f"""#!/bin/sh
case "$1" in
inspect) [ "$2 $3" = "--execution-requirements script.js" ] && exec cat {RUN}/inspect.json ;;
run)
  shift
  while [ $# -gt 1 ]; do
    case "$1 $2" in
    "--out json="*) cp {RUN}/k6.json.gz "${{2#json=}}"; shift ;;
    "--log-output=file="*) cp {RUN}/log.txt "${{1#--log-output=file=}}" ;;
    esac
    shift
  done
  cat {RUN}/console.txt
  exit 99 ;;
esac
exit 64
"""
SAR = """#!/bin/sh
[ "$1 $3" = "-o 1" ] || exit 64
echo recorded > "$2"
echo $$ > sar.pid
while :; do sleep 0.1; done
"""
SADF = """#!/bin/sh
[ "$LC_ALL" = C ] && [ "$(cat "$2")" = recorded ] || exit 64
[ "$1 $3 $4 $5 $6 $7 $8 $9" = "-j -- -u ALL -P ALL -r ALL" ] || exit 64
echo '{"sysstat": {"hosts": []}}'
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    for name, text in {"k6": K6, "sar": SAR, "sadf": SADF}.items():
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    shutil.copy(RUN / "script.js", tmp_path / "script.js")
    return tmp_path


def follow(place: Path, shell: list[str]) -> subprocess.CompletedProcess[str]:
    assert RECIPE is not None
    return subprocess.run(
        [*shell, "-c", RECIPE[1]],
        cwd=place,
        env={**os.environ, "PATH": f"{place / 'bin'}:{BIN}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("shell", [["sh"], ["bash", "-e"]], ids=lambda shell: " ".join(shell))
def test_it_runs_as_printed(shell: list[str], place: Path) -> None:
    if shutil.which(shell[0]) is None:
        pytest.skip(f"no {shell[0]}")
    done = follow(place, shell)
    kept = {p.name for p in (place / "run").iterdir()}
    assert kept == {
        "inspect.json",
        "host.sa",
        "k6.json.gz",
        "log.txt",
        "console.txt",
        "exit_code",
        "host.sadf.json",
    }
    assert (place / "run" / "exit_code").read_text() == "99\n"
    assert json.loads((place / "run" / "host.sadf.json").read_text()) == {"sysstat": {"hosts": []}}
    sources = run("lint", place / "run", "--warmup", "30s", "--verbose").stdout
    for what in ("k6 JSON points", "k6 console", "k6 log", "k6 inspect options", "exit code"):
        assert f" as {what}" in sources, what
    assert done.returncode in (1, 3), done.stderr  # a verdict: the stand-in for sadf has no sample
    assert "30 s" in done.stdout
    state = Path(f"/proc/{(place / 'sar.pid').read_text().strip()}/stat")
    assert not state.exists() or state.read_text().split()[2] == "Z"  # sar does not run on


@pytest.mark.live
def test_with_a_real_k6(place: Path) -> None:
    beside = BIN / "k6"
    k6 = shutil.which("k6") or (str(beside) if beside.exists() else None)
    if k6 is None:
        pytest.skip("no k6 here")
    (place / "bin" / "k6").unlink()
    (place / "bin" / "k6").symlink_to(k6)
    (place / "script.js").write_text(
        "export const options = {scenarios: {a: {executor: 'constant-arrival-rate', rate: 5, duration: '1s',"
        " preAllocatedVUs: 1}}, thresholds: {iterations: ['count>1000']}};\nexport default () => {};\n"
    )
    done = follow(place, ["bash", "-e"])
    assert (place / "run" / "exit_code").read_text() == "99\n"
    assert done.returncode in (1, 3), done.stderr
    sources = run("lint", place / "run", "--warmup", "30s", "--verbose").stdout
    assert "k6.json.gz as k6 JSON points" in sources
