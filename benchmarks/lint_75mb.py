"""Time `k6-audit lint` on a points file of about 75 MB (24,000 iterations), whole process.

    python benchmarks/lint_75mb.py [--runs 5]

Builds the run once in a temporary folder, then runs the installed command and prints wall and CPU seconds
and peak memory, median first. Compare two versions of the code by running it for both, in turn.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.builder import Run, Scenario

ITERATIONS, RATE = 24_000, 200


def build(folder: Path) -> Path:
    """24,000 iterations of one request each, with the tags k6 writes by default."""
    tags = {"group": "", "proto": "HTTP/1.1", "tls_version": "tls1.3", "service": "catalogue-frontend"}
    scenario = Scenario(rate=RATE, duration_s=ITERATIONS / RATE, tags=tags, max_vus=200)
    return Run([scenario]).write(folder)


def measure(command: list[str]) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and peak MB of one run of a command."""
    start = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.execv(command[0], command)
    _, _, usage = os.wait4(pid, 0)
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    command = str(Path(sys.executable).parent / "k6-audit")
    with tempfile.TemporaryDirectory() as place:
        folder = build(Path(place) / "run")
        size_mb = (folder / "k6.json").stat().st_size / 1e6
        measure([command, "lint", str(folder), "--warmup", "10s"])  # warm the file cache
        lint = [measure([command, "lint", str(folder), "--warmup", "10s"]) for _ in range(runs)]
        help_ = [measure([command, "--help"]) for _ in range(runs)]
    for name, found in (("lint", lint), ("--help", help_)):
        wall, cpu, peak = (statistics.median(column) for column in zip(*found, strict=True))
        print(
            json.dumps({"what": name, "wall_s": round(wall, 3), "cpu_s": round(cpu, 3), "peak_mb": round(peak)})
        )
    print(json.dumps({"points_mb": round(size_mb, 1), "iterations": ITERATIONS, "runs": runs}))


if __name__ == "__main__":
    main()
