"""A real k6, for a few seconds on loopback, audited: the formats are the tool's own, not our idea of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from auditor.present.json_v1 import document
from tests.builder import stamp
from tests.conftest import Judge, outcomes

SCRIPT = """
import http from "k6/http";
export const options = {
  scenarios: { live: { executor: "constant-arrival-rate", rate: 50, timeUnit: "1s", duration: "4s",
    preAllocatedVUs: 10, maxVUs: 20 } },
  thresholds: { dropped_iterations: ["count<1"], http_req_failed: ["rate<0.01"] },
};
export default function () { http.get(`${__ENV.BASE}/ok`, { tags: { name: "GET /ok" } }); }
"""


def k6_binary() -> str | None:
    """k6 on PATH, else the one that the pinned development wheel puts beside the interpreter."""
    beside = Path(sys.executable).parent / "k6"
    return shutil.which("k6") or (str(beside) if beside.exists() else None)


class _Ok(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def target() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Ok)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def sampler(tmp_path: Path) -> Iterator[Path]:
    """Host metrics of this machine every half second, from /proc/stat, in the plain CSV."""
    path = tmp_path / "host.csv"
    stop = threading.Event()

    def busy() -> tuple[int, int]:
        numbers = [int(n) for n in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
        return sum(numbers[:8]), numbers[3] + numbers[4]

    def sample() -> None:
        # Each row says how long an interval it covers: a busy machine may delay a sample.
        rows = ["timestamp,cpu_busy_percent,interval_s"]
        total, idle = busy()
        since = time.time_ns()
        while not stop.wait(0.5):
            now_total, now_idle = busy()
            spent = max(now_total - total, 1)
            now = time.time_ns()
            share = 1 - (now_idle - idle) / spent
            rows.append(f"{stamp(now)},{100 * share:.2f},{(now - since) / 1e9:.6f}")
            total, idle, since = now_total, now_idle, now
            path.write_text("\n".join(rows) + "\n")

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    time.sleep(1.2)
    yield path
    stop.set()
    thread.join(timeout=5)


@pytest.mark.live
def test_a_real_run_is_read_and_judged(tmp_path: Path, target: str, sampler: Path, judge: Judge) -> None:
    k6 = k6_binary()
    if k6 is None:
        pytest.skip("no k6 on PATH, and the development wheel has none for this platform")
    run = tmp_path / "run"
    run.mkdir()
    (run / "script.js").write_text(SCRIPT)
    environment = {**os.environ, "BASE": target}
    inspect = subprocess.run(
        [k6, "inspect", "--execution-requirements", "script.js"],
        cwd=run, env=environment, capture_output=True, text=True, timeout=30, check=True,
    )  # fmt: skip
    (run / "inspect.json").write_text(inspect.stdout)
    with (run / "console.txt").open("w") as console, (run / "log.txt").open("w") as log:
        done = subprocess.run(
            [k6, "run", "--no-color", "--no-usage-report", "--address", "", "--out", "json=k6.json.gz", "script.js"],
            cwd=run, env=environment, stdout=console, stderr=log, timeout=60, check=False,
        )  # fmt: skip
    (run / "exit_code").write_text(f"{done.returncode}\n")
    time.sleep(1.2)
    shutil.copy(sampler, run / "host.csv")

    result = judge(run, warmup="0s")
    doc = document(result)
    found = outcomes(result)
    account = doc["accounting"]["live"]
    # 50/s x 4 s, and k6 may make the one that falls on the end
    assert account["planned"] == 200
    assert account["completed"] + (account["dropped"] or 0) in (199, 200, 201)
    assert found["EV02"] == found["EV03"] == found["EV01"] == "pass"
    assert found["OL05"] == found["WM01"] == "pass"
    assert (
        found["SS08"] == "unknown"
    )  # four seconds show nothing: neither that the run is good nor that it is not
    assert result.verdict == "NOT PROVEN"
    assert doc["header"]["generator_cpu"]["status"] == "ok"
