"""Incomes of persons in a CSV file: a histogram, quartiles and means, published in French.

`python -m examples.trials.incomes FOLDER` publishes them. The facts are those of the public codebook of the excerpts.
"""

import shutil
from functools import partial

from examples.trials.trial import ROOT, Trial, main

TRIAL = Trial(
    "acs.csv",
    partial(shutil.copy, ROOT / "examples" / "acs" / "acs_ma2018.csv"),
    {
        "# SEX = [": 'SEX = { values = ["1", "2"], label = "sexe", labels = { "1" = "hommes", "2" = "femmes" } }',
        "# AGEP = [": 'AGEP = { low = 0, high = 100, width = 20, label = "âge", unit = "ans" }',
        "# PINCP = [": "PINCP = { edges = [0, 10000, 20000, 30000, 40000, 50000, 75000, 100000, 150000, 200000, "
        '1500000], label = "revenu", unit = "dollars", outside = "other" }',
        "# PINCP = {": 'PINCP = { low = 0, high = 200000, missing = "drop", label = "revenu", unit = "dollars" }',
    },
    """language = "fr"
title = "Revenus dans cinq zones du Massachusetts en 2018"
rows = "personnes"
source = "American Community Survey 2018, NIST Data Excerpts"
date = "2026-11-29"
contact = "statistiques@example.org"
key = "revenus-2018"
epsilon = 1.0
formats = ["csv", "xlsx", "parquet"]
flags = [{ when = "relative half-width > 0.2", mark = "u", text = "à utiliser avec prudence" }]

[[tables]]
title = "Personnes par revenu"
query = "PINCP"
non_negative = true
round = true

[[tables]]
title = "Revenu moyen par âge et sexe"
query = "mean(PINCP) by AGEP*SEX; mean(PINCP) by SEX"
weight = 2

[[tables]]
title = "Quartiles du revenu par sexe"
query = "quantiles(PINCP, 0.25, 0.5, 0.75) by SEX"
weight = 2
""",
)

if __name__ == "__main__":
    main(TRIAL)
