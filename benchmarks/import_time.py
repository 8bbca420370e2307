"""What `import gaugedp` costs beside `import numpy`. Run: python benchmarks/import_time.py"""

import statistics
import subprocess
import sys
import time
from pathlib import Path

ROUNDS = 15
OUT = Path(__file__).parent.parent / "docs" / "benchmarks" / "import_time.md"


def seconds(module: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
    return time.perf_counter() - start


def main() -> None:
    taken: dict[str, list[float]] = {"sys": [], "numpy": [], "gaugedp": []}
    for _ in range(ROUNDS):
        for module, times in taken.items():
            times.append(seconds(module))
    bare, numpy, gaugedp = (statistics.median(times) for times in taken.values())
    text = f"""# What an import costs

Medians of {ROUNDS} fresh interpreters each, in turn, with the start of the interpreter ({bare:.3f} s) taken off.
Written by `python benchmarks/import_time.py`.

| import | seconds | ratio to numpy | target |
|---|---|---|---|
| numpy | {numpy - bare:.3f} | 1 | |
| gaugedp | {gaugedp - bare:.3f} | {(gaugedp - bare) / (numpy - bare):.2f} | at most 2 |
"""
    print(text)
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(text)


if __name__ == "__main__":
    main()
