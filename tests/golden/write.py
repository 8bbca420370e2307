"""Pin the golden releases again: python -m tests.golden.write."""

import json
from pathlib import Path

from tests.golden.cases import Facts, cases

PINNED = Path(__file__).with_name("golden.json")


def written(releases: dict[str, Facts]) -> str:
    """Return the file of some releases: a line each."""
    lines = (f"{json.dumps(name)}: {json.dumps(facts)}" for name, facts in releases.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    PINNED.write_text(written({name: release() for name, release in cases()}), encoding="utf-8")
