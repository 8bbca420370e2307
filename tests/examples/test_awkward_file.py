"""The awkward file: read as it is, to a folder whose totals are near the truth."""

import json
from pathlib import Path

import pytest

import gaugedp as gd
from examples import awkward_file
from gaugedp.domain.text_format import TextFormat
from gaugedp.releases.publication.folder import check_folder

pytest.importorskip("matplotlib", reason="matplotlib is not installed: the extra gaugedp[report]")


def test_three_commands_from_the_file_to_the_folder(tmp_path: Path) -> None:
    commands = awkward_file.publish(tmp_path)
    assert [command[0] for command in commands] == ["domain", "check", "publish"]
    domain = gd.Domain.load(tmp_path / "besuche.toml")
    found = gd.check(gd.Table.scan(tmp_path / "besuche.csv", domain=domain))
    assert {finding.problem for finding in found.findings} == {"above 3000"}
    assert found.lines is not None
    assert not found.lines.lost
    assert domain.text_format == TextFormat(";", ",", ".", "windows-1252", "dd.mm.yyyy")
    assert check_folder(tmp_path / "published") == []
    answer = gd.Release.from_json((tmp_path / "published" / "release.json").read_text("utf-8"))
    assert json.loads((tmp_path / "published" / "manifest.json").read_text("utf-8"))["title"].startswith("Visits")
    values = dict(zip(answer.labels, answer.values, strict=True))
    (total,) = [value for (text, _), value in values.items() if text == "count"]
    months = [value for (text, _), value in values.items() if text == "TAG"]
    means = [value for (text, _), value in values.items() if text.startswith("mean")]
    assert abs(total - 20_000) < 100
    assert sum(months) == total
    assert all(number % 5 == 0 for number in months)
    assert all(500 < mean < 700 for mean in means), "not a hundred times too large"
