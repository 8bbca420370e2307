"""Police stops in a Parquet file: months, precincts and races, with totals that add up.

`python -m examples.trials.stops FOLDER` publishes them. The facts are those of the city's open data.
"""

import shutil
from pathlib import Path

from examples.trials.trial import ROOT, Trial, main

SOURCE = ROOT / "examples" / "publications"


def write(path: Path) -> None:
    """Copy the table and the map of the precincts."""
    shutil.copy(SOURCE / "stops_2017.parquet", path)
    shutil.copy(SOURCE / "precincts.geojson", path.parent)


TRIAL = Trial(
    "stops.parquet",
    write,
    {
        "# date = [": 'date = { date = "month", from = "2017-01", to = "2017-12", timezone = "America/Chicago", '
        'label = "month" }',
        "# problem = [": 'problem = { values = ["traffic", "suspicious"], label = "reason", '
        'labels = { "suspicious" = "suspicious vehicle or person" } }',
        "# race = [": 'race = { values = ["White", "Black", "East African", "Latino", "Native American", "Asian", '
        '"Other", "Unknown"], labels = { "White" = "white people", "Black" = "Black people", '
        '"East African" = "East African people", "Latino" = "Latino people", '
        '"Native American" = "Native American people", "Asian" = "Asian people" } }',
        "# precinct = [": 'precinct = { from = 1, to = 5, geography = "precincts.geojson" }',
    },
    """title = "Police stops in Minneapolis, 2017"
rows = "stops"
source = "City of Minneapolis, police stop data (excerpt)"
footnote = "A person may have been stopped more than once."
date = "2026-11-29"
contact = "statistics@example.org"
licence = "CC BY 4.0"
next_release = "2027-03"
key = "stops-2017"
epsilon = 1.0
consistent = true
non_negative = true
round = true
formats = ["csv", "xlsx"]
flags = [
  { when = "relative half-width > 0.2", mark = "u", text = "use with caution" },
  { when = "relative half-width > 0.5", mark = ":", text = "too uncertain", suppress = true },
]

[[tables]]
title = "Stops by month and precinct"
query = "date*precinct; date; precinct; count"
weight = 2

[[tables]]
title = "Stops by race and precinct"
query = "race*precinct; race"
weight = 2

[[tables]]
title = "Reasons by precinct"
query = "share(problem) by precinct"
""",
)

if __name__ == "__main__":
    main(TRIAL)
