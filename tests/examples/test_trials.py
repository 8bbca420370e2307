"""Four tables from the raw file to the folder: the commands work, files match, and totals are near the truth."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.domain.text_format import TextFormat
from gaugedp.releases.publication.folder import check_folder

pytest.importorskip("matplotlib", reason="matplotlib is not installed: the extra gaugedp[report]")
pytest.importorskip("openpyxl", reason="openpyxl is not installed: the extra gaugedp[excel]")

TOTALS = {  # of the first table: the true number, and what noise, rounding and clipped weights may change
    "visits": (20_000, 100),
    "stops": (51_920, 100),
    "incomes": (7_244, 100),
    "survey": (766_300, 40_000),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TOTALS)
def test_four_commands_from_the_file_to_the_folder(name: str, tmp_path: Path) -> None:
    trial = import_module(f"examples.trials.{name}").TRIAL
    commands = trial.publish(tmp_path)
    assert [command.split()[1] for command in commands] == ["domain", "check", "publish", "publish"]
    domain = gd.Domain.load(tmp_path / "domain.toml")
    found = gd.check(gd.Table.scan(tmp_path / trial.table, domain=domain))
    assert found.lines is None or not found.lines.lost
    assert check_folder(tmp_path / "published") == []
    assert sorted(path.suffix for path in (tmp_path / "published" / "tables").glob("01-*")).count(".xlsx") == 1
    release = gd.Release.from_json((tmp_path / "published" / "release.json").read_text("utf-8"))
    first = np.array([text == release.labels[0][0] for text, _ in release.labels])
    true, within = TOTALS[name]
    assert abs(release.values[first].sum() - true) < within


@pytest.mark.slow
def test_decimal_commas_are_read_as_they_are_meant(tmp_path: Path) -> None:
    from examples.trials.visits import TRIAL

    TRIAL.publish(tmp_path)
    domain = gd.Domain.load(tmp_path / "domain.toml")
    assert domain.text_format == TextFormat(";", ",", ".", "windows-1252", "dd.mm.yyyy")
    release = gd.Release.from_json((tmp_path / "published" / "release.json").read_text("utf-8"))
    values = dict(zip(release.labels, release.values, strict=True))
    months = [value for (text, _), value in values.items() if text == "TAG"]
    means = [value for (text, _), value in values.items() if text.startswith("mean")]
    (total,) = [value for (text, _), value in values.items() if text == "count"]
    assert sum(months) == total
    assert all(number % 5 == 0 for number in months)
    assert all(500 < mean < 700 for mean in means), "not a hundred times too large"
