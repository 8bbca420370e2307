"""Rows of AIM (McKenna, Mullins, Sheldon and Miklau 2022), for benchmarks/adaptive_rows.py, by its authors' program.

Needs an environment with jax 0.7, pandas before 3 and the other requirements of github.com/ryan112358/private-pgm
(commit 4d2b3c5), and a folder with its source; nothing of it is in this repository. CELLS is a file that
adaptive_rows.py wrote: whole numbers, a column an attribute, and a first line with sizes. OUT gets the rows and, in a
first line, the seconds of the clock and of the processor. SEED is of numpy's own generator, from which AIM
draws.

    python benchmarks/adaptive_rows_aim.py FOLDER CELLS OUT SEED
"""

import itertools
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

EPSILON, DELTA = 1.0, 1e-9


def main(folder: str, cells: str, out: str, seed: str) -> None:
    """Run AIM as it is, with its own defaults, on all tables of three attributes."""
    sys.path[:0] = [str(Path(folder) / "src"), str(Path(folder) / "mechanisms")]
    import mbi
    from aim import AIM

    frame = pd.read_csv(cells, skiprows=1)
    sizes = [int(size) for size in Path(cells).read_text("utf-8").splitlines()[0].split(",")]
    data = mbi.Dataset(frame, mbi.Domain(list(frame.columns), sizes))
    expected = [(names, 1.0) for names in itertools.combinations(frame.columns, 3)]
    clock, processor = time.perf_counter(), time.process_time()
    np.random.seed(int(seed))  # noqa: NPY002 - the generator that AIM draws from
    _, made = AIM(EPSILON, DELTA).run(data, expected)
    spent = f"{time.perf_counter() - clock:.0f},{time.process_time() - processor:.0f}\n"
    Path(out).write_text(spent + made.df[list(frame.columns)].to_csv(index=False), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
