"""What does an audit of each mechanism cost, and what does it prove?

Every mechanism of tests/statistics is audited at its claim with confidence 0.99 by both halves of the audit, and
black-box alone at its claim and with noise 10 % too small; keys are fixed. Prints a table and writes
docs/benchmarks/audits.md. Fails where an audit accuses a mechanism that keeps its claim, or where the whole audit
does not see noise that is 10 % too small.

    python benchmarks/audits.py
"""

import platform
import sys
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import gaugedp as gd  # noqa: E402
from gaugedp.audit import Audit  # noqa: E402
from tests.statistics.cases import CASES, Case  # noqa: E402

PAGE = ROOT / "docs" / "benchmarks" / "audits.md"
CONFIDENCE = 0.99


def audited(case: Case, mechanism: object) -> Audit:
    return gd.audit.audit(
        mechanism, *case.pair(mechanism), case.promise, case.runs, CONFIDENCE, rng=gd.research_rng(21)
    )


def alone(found: Audit) -> str:
    """What the black-box test alone says of noise that is too small."""
    return "seen" if found.epsilon_lower > found.epsilon_claimed else "not seen"


def row(case: Case) -> tuple[str, list[str]]:
    kept, broken = audited(case, case.make(case.promise)), audited(case, case.make(case.more))
    faults = [f"{case.name} is accused: {kept.method}"] * kept.violated
    faults += [f"{case.name} with 10 % less noise is not seen"] * (not broken.violated)
    at = f"{kept.epsilon_claimed:.3g}" + (f" at δ = {kept.delta:.2g}" if kept.delta else "")
    cells = [
        case.name,
        repr(case.promise),
        f"{case.runs:,}",
        f"{kept.seconds:.1f}",
        f"{kept.epsilon_lower:.3g}",
        at,
        broken.method,
        alone(broken),
    ]
    return f"| {' | '.join(cells)} |", faults


def main() -> int:
    rows, faults = [], []
    for case in CASES:
        line, broken = row(case)
        print(line, flush=True)
        rows.append(line)
        faults += broken
    lines = [
        "# What an audit costs, and what it proves",
        "",
        f"Python {platform.python_version()}, numpy {version('numpy')}, scipy {version('scipy')}.",
        "Confidence 0.99: half of 1 % for the white-box tests, half for the black-box one. `ε proved` is a lower bound",
        "at a mechanism that keeps its claim, `ε claimed` what the claim has at the same δ. The last two columns are",
        "about noise that is 10 % too small: the test that found it, and whether the black-box test alone did. Most of",
        "the time of K-norm noise goes into 3,000 linear programs, a millisecond each, and of walks into walking.",
        "",
        "| mechanism | claim | runs | seconds | ε proved | ε claimed | 10 % less noise: found by | black-box alone |",
        "|---|---|---:|---:|---:|---:|---|---|",
        *rows,
        "",
        f"Required: no false accusation, and every noise that is 10 % too small is found: "
        f"{'BROKEN: ' + '; '.join(faults) if faults else 'kept'}.",
        "The seconds follow the machine. Written by `python benchmarks/audits.py`.",
    ]
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
