"""Progress reports of long work."""

import sys
from collections.abc import Callable

Progress = Callable[[float], object]


def silent(share: float) -> None:
    """Show nothing."""


def part_of(progress: Progress, start: float, stop: float) -> Progress:
    return lambda share: progress(start + share * (stop - start))


class ProgressLine:
    """Progress line on standard error, as a percentage.

    Pass it as `on_progress`, as in gd.release(..., on_progress=gd.ProgressLine()). The line is overwritten at each
    percent and ends when the work is done. `name` precedes the percentage.
    """

    def __init__(self, name: str = "Done") -> None:
        self._name = name
        self._percent = -1

    def __call__(self, share: float) -> None:
        percent = int(100 * min(max(share, 0.0), 1.0))
        if percent == self._percent:
            return
        self._percent = percent
        end = "\n" if percent == 100 else ""
        sys.stderr.write(f"\r{self._name}: {percent:3} %{end}")
        sys.stderr.flush()
