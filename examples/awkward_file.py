"""From an awkward file to a published folder: semicolons, decimal commas, Latin-1 and dd.mm.yyyy.

The visits are made up. The script writes a file as many offices have it, fills in the domain file that `gaugedp domain`
proposes, and publishes three tables: `python -m examples.awkward_file FOLDER`. It prints the commands and the seconds.
"""

import re
import sys
import time
from datetime import date, timedelta
from pathlib import Path

import numpy as np

from gaugedp.cli.main import run

PLACES = ["Köln", "Nürnberg", "Würzburg", "Fulda"]
FACTS = {  # from the office's codebook
    "ORT": str(PLACES).replace("'", '"'),
    "TAG": '{ date = "month", from = "2024-01", to = "2024-12", label = "month" }',
    "GEBÜHR": '{ low = 0, high = 3000, step = 0.01, label = "fee", unit = "euros" }',
}
PUBLICATION = """title = "Visits in four towns, 2024"
data = "besuche.csv"
domain = "besuche.toml"
key = "visits-2024"
epsilon = 1.0
consistent = true
non_negative = true
round = 5

[[tables]]
title = "Visits by town and month"
query = "ORT*TAG; ORT; TAG; count"

[[tables]]
title = "Mean fee by town"
query = "mean(GEBÜHR) by ORT"
"""


def awkward_file(path: Path, n_rows: int = 20_000) -> None:
    """Write visits as a spreadsheet program with German settings does."""
    rng = np.random.default_rng(2024)
    places = rng.choice(PLACES, n_rows, p=[0.5, 0.3, 0.15, 0.05])
    days = rng.integers(0, 366, n_rows)
    fees = np.round(rng.gamma(2.0, 300.0, n_rows), 2)
    with path.open("w", encoding="latin-1", newline="\r\n") as file:
        file.write("ORT;TAG;GEBÜHR\n")
        for place, day, fee in zip(places, days, fees, strict=True):
            number = f"{fee:,.2f}".translate(str.maketrans(",.", ".,"))
            file.write(f"{place};{date(2024, 1, 1) + timedelta(int(day)):%d.%m.%Y};{number}\n")


def filled_in(proposed: str) -> str:
    """Return the proposed domain file with the facts of the codebook and the form of numbers and dates."""
    text = re.sub(r"^# (decimal|thousands|date_format) =", r"\1 =", proposed, flags=re.MULTILINE)
    for name, fact in FACTS.items():
        at = text.index("[columns]") if name == "GEBÜHR" else 0
        key = name if name.isascii() else f'"{name}"'
        pattern = rf"^# {re.escape(key)} = [^\n]*$"
        text = text[:at] + re.sub(
            pattern, lambda _, key=key, fact=fact: f"{key} = {fact}", text[at:], count=1, flags=re.MULTILINE
        )
    return text


def publish(folder: Path) -> list[list[str]]:
    """Make the file and publish it; return the commands."""
    folder.mkdir(parents=True, exist_ok=True)
    table, domain, publication = (str(folder / f"besuche{end}") for end in (".csv", ".toml", "_publication.toml"))
    awkward_file(Path(table))
    Path(publication).write_text(PUBLICATION, "utf-8")
    commands = [
        ["domain", table, "--out", domain],
        ["check", table, "--domain", domain],
        [
            "publish",
            publication,
            "--ledger",
            str(folder / "ledger"),
            "--budget",
            "1",
            "--out",
            str(folder / "published"),
        ],
    ]
    for command in commands:
        if run(command):
            sys.exit(f"gaugedp {command[0]} failed")
        if command[0] == "domain":
            Path(domain).write_text(filled_in(Path(domain).read_text("utf-8")), "utf-8")
    return commands


if __name__ == "__main__":
    started = time.time()
    done = publish(Path(sys.argv[1]))
    print(f"{len(done)} commands, {time.time() - started:.0f} seconds")
