"""A survey with weights: estimates for the population, whose intervals include the sampling error.

`python -m examples.trials.survey FOLDER` publishes them. The facts are those of the public codebook of the excerpts.
"""

import shutil
from pathlib import Path

from examples.trials.trial import ROOT, Trial, main

SCHOOLING = {  # groups of the codebook's codes; children under 3 have none
    "no diploma": ["1", "2", "3", "4"],
    "high school": ["5", "6"],
    "some college": ["7", "8"],
    "bachelor's degree": ["9"],
    "higher degree": ["10", "11", "12"],
}


def write(path: Path) -> None:
    """Copy the table and write the public list of groups."""
    shutil.copy(ROOT / "examples" / "acs" / "acs_ma2018.csv", path)
    lines = [f"{code},{group}" for group, codes in SCHOOLING.items() for code in codes]
    (path.parent / "schooling.csv").write_text("\n".join(["EDU,SCHOOLING", *lines]), "utf-8")


TRIAL = Trial(
    "acs.csv",
    write,
    {
        "neighbours": 'neighbours = "replace"  # one row is one person; the size of the sample is public',
        "# [weights]": '[weights]\ncolumn = "PWGTP"\nlow = 1\nhigh = 400',
        "# SEX = [": 'SEX = { values = ["1", "2"], label = "sex", labels = { "1" = "men", "2" = "women" } }',
        "# AGEP = [": 'AGEP = { low = 0, high = 100, width = 20, label = "age", unit = "years" }',
        "# EDU = [": 'SCHOOLING = { look_up = "schooling.csv", on = "EDU", label = "schooling" }',
        "# PINCP = {": 'PINCP = { low = 0, high = 200000, step = 100, missing = "drop", label = "income", '
        'unit = "dollars" }',
    },
    """title = "Population, schooling and income in five areas of Massachusetts, 2018"
rows = "persons"
source = "American Community Survey 2018, NIST Data Excerpts"
footnote = "Estimates for the population, from a sample of about 7,200 persons."
date = "2026-11-29"
contact = "statistics@example.org"
key = "survey-2018"
epsilon = 1.0
intervals = "total"
consistent = true
non_negative = true
round = 100
formats = ["csv", "xlsx"]
flags = [
  { when = "relative half-width > 0.2", mark = "u", text = "use with caution" },
  { when = "relative half-width > 0.5", mark = ":", text = "too uncertain", suppress = true },
]

[[tables]]
title = "Population by age and sex"
query = "weighted count by AGEP*SEX; weighted count by AGEP; weighted count by SEX; weighted count"

[[tables]]
title = "Mean income by schooling"
query = "mean(PINCP) by SCHOOLING"
weight = 4

[[tables]]
title = "Mean income by sex"
query = "mean(PINCP) by SEX"
""",
)

if __name__ == "__main__":
    main(TRIAL)
