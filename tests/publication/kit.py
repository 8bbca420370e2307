"""A desk with a table, its domain file and a publication."""

from pathlib import Path

from gaugedp.cli.main import run

TABLES = """
[[tables]]
title = "By sex"
query = "SEX; count"
weight = 3

[[tables]]
title = "By age"
query = "AGE"

[[tables]]
title = "Pay"
query = "median(PAY); mean(PAY) by SEX"
weight = 2
"""
DOMAIN = """[unit]
neighbours = "add_remove"
[attributes]
SEX = { values = ["1", "2"], labels = { "1" = "men", "2" = "women" } }
AGE = { low = 0, high = 60, width = 20 }
[columns]
PAY = { low = 0, high = 100 }
"""


def written(desk: Path, tables: str = TABLES, head: str = "epsilon = 2.0") -> Path:
    path = desk / "publication.toml"
    text = f'title = "People"\ndata = "people.csv"\nkey = "p1"\nformats = ["csv", "parquet"]\n{head}\n{tables}'
    path.write_text(text, "utf-8")
    return path


def published(desk: Path, out: str = "out") -> int:
    return run(
        [
            "publish",
            str(desk / "publication.toml"),
            "--ledger",
            str(desk / "l"),
            "--budget",
            "3",
            "--out",
            str(desk / out),
        ]
    )


def contents(folder: Path) -> dict[str, bytes]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
