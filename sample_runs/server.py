"""A small HTTP/1.1 server on the loopback, the system under test of the sample runs.

Standard library only. Every path answers alike: after a random service time with a short JSON
body. Options add the faults the stories need: a pool of workers (a queue forms beyond it), one
stall of the whole server, a share of 503s and a share of requests that hang.

    python sample_runs/server.py --port 0 --stall 25:30

The port that was bound is printed as the first line, ``port 12345``. The process ends on SIGTERM,
and by itself after ``--max-seconds``, so that a recording that dies leaves nothing behind.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import signal
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

BODY = b'{"ok": true}'
SHAPE = 9.0  # of the gamma distribution of service times: a sixth to three times the mean
HEAD_END = b"\r\n\r\n"


def response(status: int, reason: str) -> bytes:
    """Return the bytes of one keep-alive answer."""
    head = (
        f"HTTP/1.1 {status} {reason}\r\nContent-Type: application/json\r\nContent-Length: {len(BODY)}\r\n\r\n"
    )
    return head.encode("ascii") + BODY


OK = response(200, "OK")
UNAVAILABLE = response(503, "Service Unavailable")


@dataclass(frozen=True)
class Faults:
    """What the server does apart from answering."""

    mean_ms: float = 15.0
    workers: int = 0  # 0: no limit
    stall: tuple[float, float] | None = None  # seconds after the first request
    fail_share: float = 0.0
    hang_share: float = 0.0


class Service:
    """Decides when and how each request is answered."""

    def __init__(self, faults: Faults, seed: int) -> None:
        self.faults = faults
        self.random = random.Random(seed)
        self.busy = 0
        self.queue: deque[Callable[[], None]] = deque()
        self.first: float | None = None

    def handle(self, send: Callable[[bytes], None]) -> None:
        """Take one request; ``send`` is called once, later, or never (a hang)."""
        now = asyncio.get_running_loop().time()
        if self.first is None:
            self.first = now
        lot = self.random.random()
        if lot < self.faults.hang_share:
            return  # the client's own timeout ends it
        status = UNAVAILABLE if lot < self.faults.hang_share + self.faults.fail_share else OK
        self._admit(lambda: self._serve(send, status))

    def _admit(self, job: Callable[[], None]) -> None:
        if self.faults.workers and self.busy >= self.faults.workers:
            self.queue.append(job)
            return
        self.busy += 1
        job()

    def _serve(self, send: Callable[[bytes], None], answer: bytes) -> None:
        mean = self.faults.mean_ms / 1000.0
        delay = self.random.gammavariate(SHAPE, mean / SHAPE)
        asyncio.get_running_loop().call_later(delay, self._finish, send, answer)

    def _finish(self, send: Callable[[bytes], None], answer: bytes) -> None:
        wait = self._stalled_for()
        if wait > 0:
            asyncio.get_running_loop().call_later(wait, self._finish, send, answer)
            return
        send(answer)
        self.busy -= 1
        if self.queue:
            self._admit(self.queue.popleft())

    def _stalled_for(self) -> float:
        """Return how long an answer due now is still held by the stall."""
        if self.faults.stall is None or self.first is None:
            return 0.0
        since = asyncio.get_running_loop().time() - self.first
        begin, end = self.faults.stall
        return end - since if begin <= since < end else 0.0


class Connection(asyncio.Protocol):
    """One keep-alive connection. A Protocol, not streams: a third of the CPU at 500 requests/s."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.buffer = b""
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport to answer on."""
        if isinstance(transport, asyncio.Transport):
            self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the transport: an answer that comes later has nowhere to go."""
        self.transport = None

    def data_received(self, data: bytes) -> None:
        """Cut complete requests out of the stream."""
        self.buffer += data
        while (end := self.buffer.find(HEAD_END)) >= 0:
            total = end + len(HEAD_END) + content_length(self.buffer[:end])
            if len(self.buffer) < total:
                return
            self.buffer = self.buffer[total:]
            self.service.handle(self._send)

    def _send(self, answer: bytes) -> None:
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(answer)


def content_length(head: bytes) -> int:
    """Return the length of the body announced by a request head (0 without one)."""
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            return int(value)
    return 0


async def serve(port: int, faults: Faults, seed: int, max_seconds: float) -> None:
    """Listen on the loopback until SIGTERM, SIGINT or the time limit."""
    loop = asyncio.get_running_loop()
    service = Service(faults, seed)
    server = await loop.create_server(lambda: Connection(service), "127.0.0.1", port, backlog=1024)
    print(f"port {server.sockets[0].getsockname()[1]}", flush=True)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), max_seconds)
    server.close()


def stall_range(text: str) -> tuple[float, float]:
    """Parse ``A:B``."""
    begin, _, end = text.partition(":")
    parsed = float(begin), float(end)
    if not 0 <= parsed[0] < parsed[1]:
        raise argparse.ArgumentTypeError("needs 0 <= A < B")
    return parsed


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    """Return the parsed command line."""
    parser = argparse.ArgumentParser(description="Loopback server of the sample runs.")
    parser.add_argument("--port", type=int, default=0, help="0: any free port (printed)")
    parser.add_argument("--mean-ms", type=float, default=15.0, help="mean service time")
    parser.add_argument("--workers", type=int, default=0, help="requests served at once; 0: all")
    parser.add_argument(
        "--stall", type=stall_range, metavar="A:B",
        help="hold every answer from second A to B after the first request",
    )  # fmt: skip
    parser.add_argument("--fail-share", type=float, default=0.0, help="share answered with 503")
    parser.add_argument("--hang-share", type=float, default=0.0, help="share never answered")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--max-seconds", type=float, default=600.0)
    return parser.parse_args(argv)


def main() -> None:
    """Run the server."""
    args = parse()
    faults = Faults(args.mean_ms, args.workers, args.stall, args.fail_share, args.hang_share)
    asyncio.run(serve(args.port, faults, args.seed, args.max_seconds))


if __name__ == "__main__":
    main()
