"""Progress reports of long work: a function of the share that is done."""

import sys
from collections.abc import Callable

Progress = Callable[[float], object]


def silent(share: float) -> None:
    """Show nothing."""


def part_of(progress: Progress, start: float, stop: float) -> Progress:
    """Return what is told the share done of a part that goes from `start` to `stop`."""
    return lambda share: progress(start + share * (stop - start))


class ProgressLine:
    """A line that tells the share that is done, written over at each percent; in a notebook as in a terminal.

    For `on_progress`, as in gd.release(..., on_progress=gd.ProgressLine()). It goes to standard error, and ends where
    all is done; the next work begins another line. `name` stands before the percentage.
    """

    def __init__(self, name: str = "Done") -> None:
        self._name = name
        self._percent = -1

    def __call__(self, share: float) -> None:
        """Write the share, where its percentage is another one than before."""
        percent = int(100 * min(max(share, 0.0), 1.0))
        if percent == self._percent:
            return
        self._percent = percent
        end = "\n" if percent == 100 else ""
        sys.stderr.write(f"\r{self._name}: {percent:3} %{end}")
        sys.stderr.flush()
