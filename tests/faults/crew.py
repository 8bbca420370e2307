"""Worker processes for the fault tests, started once and told what to do."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

WORKER = Path(__file__).with_name("ledger_worker.py")


class Worker:
    """One process of ledger_worker.py."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )

    def order(self, *words: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\t".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def ask(self, *words: object) -> str:
        self.order(*words)
        return self.answer()


@contextmanager
def crew(count: int) -> Iterator[list[Worker]]:
    """Start `count` workers and end them."""
    workers = [Worker() for _ in range(count)]
    try:
        yield workers
    finally:
        for worker in workers:
            worker.process.communicate()
