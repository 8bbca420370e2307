"""An awkward file: semicolons, decimal commas, Latin-1 and dd.mm.yyyy, published in German.

`python -m examples.trials.visits FOLDER` writes a file as many offices have it, with made-up visits, and publishes it.
"""

from datetime import date, timedelta
from pathlib import Path

import numpy as np

from examples.trials.trial import Trial, main

PLACES = ["Köln", "Nürnberg", "Würzburg", "Fulda"]


def write(path: Path, n_rows: int = 20_000) -> None:
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


TRIAL = Trial(
    "besuche.csv",
    write,
    {
        "# decimal": 'decimal = ","',
        "# thousands": 'thousands = "."',
        "# date_format": 'date_format = "dd.mm.yyyy"',
        "# ORT = [": 'ORT = { values = ["Köln", "Nürnberg", "Würzburg", "Fulda"], label = "Ort" }',
        "# TAG = [": 'TAG = { date = "month", from = "2024-01", to = "2024-12", label = "Monat" }',
        '# "GEBÜHR" = {': '"GEBÜHR" = { low = 0, high = 3000, step = 0.01, label = "Gebühr", unit = "Euro" }',
    },
    """language = "de"
title = "Besuche in vier Städten 2024"
rows = "Besuche"
source = "Besuchsstatistik der Städte (erfunden)"
date = "2026-11-29"
contact = "statistik@example.org"
key = "visits-2024"
epsilon = 1.0
consistent = true
non_negative = true
round = 5
formats = ["csv", "xlsx"]
flags = [{ when = "relative half-width > 0.2", mark = "u", text = "unsicherer Wert" }]

[[tables]]
title = "Besuche nach Ort und Monat"
query = "ORT*TAG; ORT; TAG; count"

[[tables]]
title = "Durchschnittliche Gebühr nach Ort"
query = "mean(GEBÜHR) by ORT"
""",
)

if __name__ == "__main__":
    main(TRIAL)
