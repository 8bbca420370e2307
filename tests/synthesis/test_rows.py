"""`synthesize`: rows from releases alone, in the kinds of values and frames that the table had."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest
from gaugedp.synthesis import measurements as released_module

AREAS = {"REGION": ["N", "N", "N", "S", "S"], "DISTRICT": ["n1", "n1", "n2", "s1", "s2"]}
DOMAIN = gd.Domain.of(
    SEX=["m", "f"],
    AGE=gd.bins(0, 100, 20),
    SHARE=gd.bins(edges=[0, 0.25, 1], outside="other"),
    EDU=gd.integers(1, 4, outside="other"),
    MONTH=gd.dates("2024-11", "2025-02", by="month", outside="other"),
    KIND=gd.categories(["a", "b"], outside="other"),
    TRACT=gd.tree({**AREAS, "TRACT": ["1", "2", "3", "4", "5"]}, outside="other"),
    PAY=gd.bounded(0, 100),
)
TEXT = "count; SEX*AGE; EDU*SEX; KIND*MONTH; TRACT; REGION*AGE; DISTRICT*KIND; SHARE; sum(PAY)"


def people(n: int = 4000, seed: int = 1) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    sex = random.integers(0, 2, n)
    return pd.DataFrame(
        {
            "SEX": np.array(["m", "f"])[sex],
            "AGE": np.minimum(random.integers(0, 60, n) + 30 * sex, 99),
            "SHARE": random.choice([0.1, 0.3, 1.0, 7.0], n),
            "EDU": random.integers(1, 6, n),
            "MONTH": random.choice(["2024-11-05", "2024-12-31", "2025-02-01", "2025-03-01"], n),
            "KIND": random.choice(list("abz"), n, p=[0.7, 0.2, 0.1]),
            "TRACT": random.choice(list("123459"), n, p=[0.1, 0.3, 0.1, 0.2, 0.2, 0.1]),
            "PAY": random.integers(0, 101, n),
        }
    )


def released(text: str = TEXT, frame: object = None, rho: float = 1e6, domain: gd.Domain = DOMAIN) -> gd.Release:
    """A release whose noise is far below a row, for the default ρ."""
    table = gd.Table.scan(people() if frame is None else frame, domain=domain, name="people")
    query, ledger = gd.query(domain, text), gd.Ledger.in_memory(gd.ZCDP(10 * rho))
    mechanism = gd.Gaussian.calibrate(query.sensitivity(table.unit), gd.ZCDP(rho))
    return gd.release(query, table, ledger=ledger, mechanism=mechanism, rng=gd.research_rng(5))


@pytest.fixture(scope="module")
def release() -> gd.Release:
    return gd.Release.from_json(released().to_json())


@pytest.fixture(scope="module")
def made(release: gd.Release) -> gd.SyntheticRows:
    return gd.draw_rows(release, rng=gd.research_rng(1))


def test_counts_are_the_released_ones_within_rounding(made: gd.SyntheticRows, release: gd.Release) -> None:
    lines = made.beside
    assert len(made.cells) == 4000
    assert len(lines["rows"]) == len(release.labels) - 1, "all but the sum"
    assert np.abs(lines["rows"] - lines["estimate"]).max() <= 3
    assert set(lines) == {"query", "cell", "rows", "estimate", "lower", "upper", "lower_all", "upper_all"}


def test_the_rows_counted_anew_from_the_frame_have_the_counts_beside(made: gd.SyntheticRows) -> None:
    """The frame is read as a table is: each value lies in the cell that it was drawn for."""
    again = released(frame=made.to_frame().assign(PAY=0)).to_frame()
    counted = again[again["query"] != "sum(PAY)"]
    lines = pd.DataFrame(made.beside)
    assert list(counted["cell"]) == list(lines["cell"])
    assert list(counted["estimate"]) == list(lines["rows"])


def test_values_are_of_the_kind_of_the_column(made: gd.SyntheticRows) -> None:
    frame = made.to_frame()
    assert set(frame["SEX"]) == {"m", "f"}
    assert set(frame["KIND"]) == {"a", "b", "other"}
    assert set(frame["MONTH"]) == {"2024-11", "2024-12", "2025-02", "other"}
    assert frame["AGE"].dtype == np.int64
    assert set(frame["AGE"]) == set(range(100)), "whole numbers where borders are"
    assert set(frame["EDU"].dropna()) == {1, 2, 3, 4}
    assert frame["EDU"].isna().sum() == pytest.approx(800, abs=120)
    shares = frame["SHARE"]
    assert shares.isna().sum() == pytest.approx(1000, abs=120)
    assert shares.nunique() > 2500
    assert 0 <= shares.min() < 0.001
    assert 0.999 < shares.max() <= 1


def test_each_area_lies_where_the_tree_says(made: gd.SyntheticRows) -> None:
    places = zip(["1", "2", "3", "4", "5", "other"], *([*AREAS[name], "other"] for name in AREAS), strict=True)
    columns = [made.columns[name] for name in ("TRACT", "REGION", "DISTRICT")]
    assert set(zip(*columns, strict=True)) == set(places)


def test_levels_need_no_finest_one() -> None:
    made = gd.draw_rows(released("REGION*SEX; DISTRICT"), rng=gd.research_rng(2))
    assert set(made.columns) == {"REGION", "SEX", "DISTRICT"}
    results = set(zip(made.columns["DISTRICT"], made.columns["REGION"], strict=True))
    assert results == {*zip(AREAS["DISTRICT"], AREAS["REGION"], strict=True), ("other", "other")}
    assert np.abs(made.beside["rows"] - made.beside["estimate"]).max() <= 3


def test_a_seed_gives_the_same_rows_and_another_does_not(release: gd.Release) -> None:
    first, again, other = (gd.synthesize(release, rng=gd.research_rng(seed)) for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)
    assert len(gd.synthesize(release)) == 4000


def test_processed_answers_give_the_same_rows() -> None:
    noisy = released("SEX*AGE; EDU*SEX", rho=0.01)
    rounded = noisy.processed("non_negative", "rounded")
    assert (rounded.values != noisy.values).any()
    assert gd.synthesize(rounded, rng=gd.research_rng(1)).equals(gd.synthesize(noisy, rng=gd.research_rng(1)))


@pytest.mark.parametrize("n_rows", [1, 500, 9000])
def test_as_many_rows_as_are_asked_for_and_counts_scaled(release: gd.Release, n_rows: int) -> None:
    made = gd.draw_rows(release, n_rows, gd.research_rng(1))
    assert len(made.to_frame()) == n_rows
    lines = made.beside
    assert lines["rows"][0] == pytest.approx(4000, abs=1)
    assert np.abs(lines["rows"] - lines["estimate"]).max() <= 4 * 4000 / n_rows


def test_frames_are_of_the_kind_of_the_table() -> None:
    import polars
    import pyarrow

    text = "SEX*KIND"
    for frame, kind in ((polars.from_pandas(people()), polars.DataFrame), (pyarrow.table(people()), pyarrow.Table)):
        made = gd.synthesize(released(text, frame), rng=gd.research_rng(1))
        assert isinstance(made, kind)
        assert made.shape == (4000, 2)


def test_several_releases_are_one_law_and_the_exact_one_weighs_more() -> None:
    exact, other = released("SEX*KIND", rho=100), released("AGE")
    loose = released("SEX*KIND", people(9000, 2), rho=1e-5)
    made = gd.draw_rows([loose, exact, other], rng=gd.research_rng(1))
    assert list(made.columns) == ["SEX", "KIND", "AGE"]
    lines = pd.DataFrame(made.beside)
    assert len(lines) == 6 + 6 + 5
    assert (lines["rows"] - lines["estimate"]).abs()[6:].max() < 15


def test_noise_that_says_less_than_nothing_leaves_no_negative_counts_and_intervals_hold() -> None:
    """At ρ = 0.01 many raw counts are negative. The law strays less from the truth than raw counts do."""
    pairs = "; ".join("*".join(pair) for pair in itertools.combinations(["SEX", "AGE", "EDU", "KIND", "MONTH"], 2))
    truth = released(pairs).raw
    noisy = released(pairs, rho=0.002)
    made = gd.draw_rows(noisy, rng=gd.research_rng(3)).beside["rows"]
    assert noisy.raw.min() < 0
    assert np.abs(made - truth).sum() < 0.9 * np.abs(noisy.raw - truth).sum()


def test_what_no_rows_can_be_drawn_from_is_refused(release: gd.Release, monkeypatch: pytest.MonkeyPatch) -> None:
    other = released("SEX", domain=gd.Domain.of(SEX=["m", "f", "x"]))
    far = released("SEX", people())
    far = gd.Release.from_json(far.to_json().replace('"table": "people"', '"table": "others"'))
    regions, districts = (
        released(name, domain=gd.Domain.of(TRACT=gd.tree({name: list(areas), "TRACT": list("12345")})))
        for name, areas in (("REGION", "aaabb"), ("DISTRICT", "aabbc"))
    )
    old = replace(release, facts={name: fact for name, fact in release.facts.items() if name != "deviations"})
    many = gd.Release.from_json(release.to_json().replace('"max_rows": 1', '"max_rows": 2'))
    for releases, words in [
        (released("sum(PAY); mean(PAY) by SEX"), "no counts of cells"),
        (released("count"), "no counts of cells"),
        ([release, released("prefix(AGE)")], "prefix(AGE)"),
        ([], "No release is given."),
        ("a.json", "No release is given."),
        ([release, other], "differ in the cells of SEX"),
        ([release, far], "differ in their table"),
        ([release, many], "differ in their unit"),
        ([regions, districts], "REGION and DISTRICT belong to different trees"),
        (old, "no counts of cells"),
    ]:
        with pytest.raises(InvalidRequest) as refused:
            gd.synthesize(releases)
        assert words in str(refused.value)
    for n_rows in (0, 1.5, True):
        with pytest.raises(InvalidRequest, match="n_rows"):
            gd.synthesize(release, n_rows)
    monkeypatch.setattr(released_module, "MOST_CELLS", 10)
    with pytest.raises(InvalidRequest, match="cells for these tables, more than the"):
        gd.synthesize(release)


def test_files_hold_the_rows(made: gd.SyntheticRows, tmp_path) -> None:
    made.save_csv(tmp_path / "rows.csv")
    made.save_parquet(tmp_path / "rows.parquet")
    made.save_beside(tmp_path / "beside.csv")
    read = pd.read_csv(tmp_path / "rows.csv", dtype={"TRACT": str})
    pd.testing.assert_frame_equal(read, made.to_frame(), check_dtype=False)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "rows.parquet"), made.to_frame(), check_dtype=False)
    assert list(pd.read_csv(tmp_path / "beside.csv")["rows"]) == list(made.beside["rows"])
    with pytest.raises(InvalidRequest, match="the output has the format CSV"):
        made.save_csv(tmp_path / "rows.parquet")
