"""The progress that a terminal shows."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


WATCHED = """
import time
from auditor.cli import progress
from auditor.evidence import Position
from auditor.samples.workers import Threads
class Slow(Threads):
    asked = 0
    def position(self):
        self.asked += 1
        return Position(min(self.asked, 8) * 250_000_000, 2_000_000_000, self.asked * 1_000_000)
progress.SHOW_AFTER_S = 0.0
with progress.progress(Slow()):
    time.sleep(1.5)
print("done")
"""


def watched(**environment: str) -> str:
    """What a terminal on standard error gets to see."""
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-c", WATCHED],
        stderr=theirs,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "110", **environment},
        check=True,
    )
    assert done.stdout == b"done\n"
    os.close(theirs)
    seen = b""
    try:
        while chunk := os.read(ours, 65536):
            seen += chunk
    except OSError:
        pass
    os.close(ours)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode())


def test_progress_on_a_terminal() -> None:
    seen = watched()
    assert re.search(r"reading .*0\.[257]\d?/2\.0 GB [\d,]+ samples/s", seen)
    assert "judging" in seen


def test_no_progress_elsewhere() -> None:
    assert watched(TERM="dumb") == ""
    done = subprocess.run([sys.executable, "-c", WATCHED], capture_output=True, cwd=ROOT, check=True, text=True)
    assert done.stderr == ""
