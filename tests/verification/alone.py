"""Which planted faults in calibration and sensitivity the check before a charge stops, without any test.

    PYTHONPATH=src:. python -m tests.verification.alone

Plants one fault at a time in a copy of the library, calibrates all noise of `test_check.noises`, and counts verdicts.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.mutants.faults import Fault, read
from tests.mutants.run import Copy

NAMES = [
    "laplace-noise-a-tenth-too-narrow",
    "laplace-noise-by-the-wrong-norm",
    "gaussian-noise-a-tenth-too-narrow",
    "zcdp-noise-of-twice-the-rho",
    "gaussian-noise-by-the-wrong-norm",
    "weights-that-the-radius-knows-and-the-noise-does-not",
    "cells-of-units-that-are-replaced",
    "a-cube-a-tenth-too-small",
    "k-norm-noise-a-tenth-too-small",
    "a-rate-of-noise-that-is-no-epsilon",
    "matrix-noise-a-tenth-too-narrow",
    "matrix-noise-of-twice-the-rho",
    "a-pure-strategy-by-the-wrong-norm",
    "a-factorisation-by-its-mean",
    "cells-that-are-replaced-under-normal-noise",
    "a-tree-by-its-widest-level",
    "marginals-by-their-widest",
    "staircase-noise-a-tenth-too-small",
    "stairs-of-half-the-sensitivity",
    "what-a-pure-strategy-leaves-over",
    "interactions-by-their-mean",
    "a-product-of-one-factor",
    "a-product-of-half-a-replacement",
    "a-stack-that-charges-one-part",
    "levels-of-areas-by-their-widest",
    "one-row-a-unit",
    "a-replaced-row-as-an-added-one",
    "a-sum-with-its-lesser-bound",
    "a-row-in-one-prefix",
    "a-replaced-row-in-one-prefix",
    "cells-that-share-a-row",
    "a-row-in-fewer-ranges",
    "a-hull-without-its-factor",
    "a-hull-of-differences-as-large-as-a-point",
    "the-largest-norm-of-the-first-generator",
    "a-box-for-one-row",
    "a-box-hull-that-forgets-half-its-length",
    "a-product-that-one-factor-moves",
    "squares-that-move-with-their-column",
    "a-row-in-no-area",
    "columns-a-tenth-too-short",
    "a-radius-rounded-down",
]
SCRIPT = """
import warnings
warnings.simplefilter("ignore")
from tests.verification.test_check import noises, stacks
print(*{noise.verdict() for noise in stacks()}, flush=True)
print(*{noise.verdict() for noise in noises()})
"""


def outcomes() -> Iterator[tuple[Fault, str]]:
    """Yield each fault and whether the check "refused" some noise, all was "passed", or there was an "error" before."""
    chosen = [fault for fault in read() if fault.name in NAMES and not fault.file.startswith("estimators/")]
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy.made(Path(folder) / "copy")
        for fault in chosen:
            with copy.planted(fault):
                settings = {**os.environ, "PYTHONPATH": f"{copy.folder / 'src'}:{copy.folder}"}
                command = [sys.executable, "-c", SCRIPT]
                run = subprocess.run(
                    command, capture_output=True, text=True, cwd=copy.folder, env=settings, check=False
                )
            verdict = "refused" if "refused" in run.stdout else "error" if run.returncode else "passed"
            yield fault, verdict


def main() -> None:
    """Print a line for each fault, and how many were refused."""
    found = []
    for fault, verdict in outcomes():
        found.append(verdict)
        sys.stdout.write(f"{verdict:8} {fault.file}: {fault.name}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{found.count('refused')} of {len(found)} were stopped by the check alone.\n")


if __name__ == "__main__":
    main()
