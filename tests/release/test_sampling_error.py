"""Total intervals: the sampling error of weighted answers, from released second moments."""

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import gaugedp as gd
from gaugedp.cli.release import show_answers
from gaugedp.queries.sampling import second_moments
from gaugedp.queries.stacked import shared
from gaugedp.releases.publication.publication import Publication
from gaugedp.report.html import render
from gaugedp.report.press import press
from gaugedp.report.terms import read_terms

COLUMNS = {"sex": ["1", "2"], "pay": gd.bounded(0, 100)}
DOMAIN = gd.Domain.of(**COLUMNS).with_weights("w", gd.bounded(1, 5))
TEXT = "weighted count by sex; mean(pay) by sex; share(sex); sum(pay); sex"
Z = 1.959964


def sample(n=3000):
    draw = np.random.default_rng(9)
    return pd.DataFrame(
        {"sex": draw.choice(["1", "2"], n), "pay": draw.integers(0, 101, n), "w": draw.integers(1, 6, n)}
    )


def released(query, rows, epsilon, **options):
    table = gd.Table.scan(rows, domain=query.domain, name="survey")
    return gd.release(query, table, ledger=gd.Ledger.in_memory(gd.PureDP(1e9)), epsilon=epsilon, **options)


def errors_of_a_survey_package(rows):
    """The linearised standard errors of TEXT, for sampling with replacement."""
    n, w, x = len(rows), rows.w.to_numpy(float), rows.pay.to_numpy(float)

    def of_total(y):
        return np.sqrt(n / (n - 1) * ((w * y) ** 2).sum() - (w * y).sum() ** 2 / (n - 1))

    groups = [(rows.sex == sex).to_numpy() for sex in "12"]
    means = [np.average(x[own], weights=w[own]) for own in groups]
    of_means = [
        np.sqrt((w[own] ** 2 * (x[own] - mean) ** 2).sum()) / w[own].sum()
        for own, mean in zip(groups, means, strict=True)
    ]
    shares = [w[own].sum() / w.sum() for own in groups]
    of_shares = [np.sqrt((w**2 * (own - p) ** 2).sum()) / w.sum() for own, p in zip(groups, shares, strict=True)]
    return [[of_total(own) for own in groups], of_means, of_shares, [of_total(x)], [0, 0]]


def test_without_noise_errors_are_those_of_a_survey_package() -> None:
    rows = sample()
    answer = released(gd.with_sampling_error(gd.query(DOMAIN, TEXT)), rows, 1e5)
    expected = errors_of_a_survey_package(rows)
    for actual, own in zip(answer.sampling_errors, expected, strict=False):
        assert actual == pytest.approx(own, rel=1e-3)
    low, high = answer.interval()
    reach = Z * np.concatenate(expected)
    assert (high - low)[: len(reach)] / 2 == pytest.approx(reach, rel=0.01, abs=1e-2)


def test_a_total_interval_combines_noise_and_sampling() -> None:
    rows, query = sample(), gd.with_sampling_error(gd.query(DOMAIN, TEXT))
    answer = released(query, rows, 1.0)
    assert (answer.intervals, answer.facts["intervals"]) == ("total", "total")
    again = gd.Release.from_json(answer.to_json())
    noise = again.facts["widths"]["single"]["0.95"]
    assert noise is not None
    for at_once in (False, True):
        low, high = answer.interval(0.95, at_once)
        assert np.array_equal(again.interval(0.95, at_once), (low, high))
        assert (low[:9] <= answer.values[:9]).all()
        assert (answer.values[:9] <= high[:9]).all()
    widths = np.concatenate(answer.sampling_errors)
    individual = np.subtract(*answer.interval()[::-1]) / 2
    assert (individual[:7] >= Z * widths[:7] * 0.999).all()
    (least, most), middle = next(iter(answer._each_alone(0.95))), answer.raw[:2]
    low, high = (end[:2] for end in answer.interval())
    assert middle - low == pytest.approx(np.hypot(middle - least, Z * widths[:2]))
    assert high - middle == pytest.approx(np.hypot(most - middle, Z * widths[:2]))


def test_every_release_and_page_states_what_intervals_contain() -> None:
    rows, query = sample(300), gd.query(DOMAIN, "mean(pay) by sex")
    for intervals, report, press_words in (
        ("noise", "account only for the noise", "do not account for sampling error"),
        ("total", "account for noise and sampling error", "also account for the sampling error"),
    ):
        answer = released(query, rows, 5.0, intervals=intervals)
        assert json.loads(answer.to_json())["intervals"] == intervals
        assert report in render(answer)
        assert press_words in press(answer)
        assert [term.text for term in read_terms(answer)] == ["mean(pay) by sex"]


def test_the_plan_states_the_share_of_second_moments() -> None:
    plan = gd.plan(gd.with_sampling_error(gd.query(DOMAIN, "mean(pay)"), share=0.125), gd.PrivacyUnit(), epsilon=1.0)
    assert "squared weights(pay): 0.125 of the guarantee" in str(plan)
    assert [part.guarantee for part in plan.mechanism.parts] == [gd.PureDP(0.875), gd.PureDP(0.125)]


def test_numbers_that_noise_made_negative_leave_an_error() -> None:
    answer = released(
        gd.with_sampling_error(gd.query(DOMAIN, "weighted count by sex; mean(pay) by sex")), sample(3), 0.01
    )
    assert all((errors[:2] > 0).all() for errors in answer.sampling_errors[:2])


def test_a_derived_release_has_intervals_of_the_noise() -> None:
    query = gd.with_sampling_error(gd.query(DOMAIN, "weighted count by sex"))
    answer = released(query, sample(), 1.0)
    plan = gd.plan(query, gd.PrivacyUnit(), epsilon=1.0)
    for options in ({"planned": plan}, {"domain": DOMAIN}):
        derived = gd.derive(answer, "share(sex)", **options)
        assert (derived.intervals, derived.facts["intervals"]) == ("noise", "noise")


def test_processing_leaves_second_moments_as_they_are() -> None:
    query = gd.with_sampling_error(gd.query(DOMAIN, "weighted count by sex; weighted count"))
    answer = released(query, sample(), 1.0)
    shown = answer.processed("consistent", "non_negative", query=query)
    assert shown.values[:2].sum() == pytest.approx(shown.values[2])
    assert np.array_equal(shown.values[3:], answer.raw[3:])
    assert all(np.array_equal(*pair) for pair in zip(shown.sampling_errors, answer.sampling_errors, strict=True))


def test_sums_of_weights_are_rounded_like_counts_and_add_up() -> None:
    text = "weighted count by sex*age; weighted count by sex; weighted count; sex*age; count; sum(pay)"
    query = gd.query(gd.Domain.of(**COLUMNS, age=["a", "b", "c"]).with_weights("w", gd.bounded(1, 5)), text)
    rows = sample().assign(age=np.resize(["a", "b", "c"], 3000))
    answer = released(query, rows, 1.0)
    shown = answer.processed("consistent", "non_negative", "rounded to 100", query=query)
    assert (shown.values[:9] % 100 == 0).all()
    assert np.array_equal(shown.values[:6].reshape(2, 3).sum(axis=1), shown.values[6:8])
    assert shown.values[6:8].sum() == shown.values[8]
    assert np.abs(shown.values[:9] - answer.values[:9]).max() < 200
    assert shown.values[-1] % 100, "a sum is no count"
    low = answer.processed("non_negative", "rounded to 10", query=query)
    assert (low.values[:16] % 10 == 0).all()


def test_what_has_no_sampling_error_is_refused() -> None:
    for text in ("sex", "unweighted mean(pay)", "median(pay)", "sd(pay)"):
        with pytest.raises(gd.InvalidRequest, match="No sampling error"):
            gd.with_sampling_error(gd.query(DOMAIN, text))
    mean = gd.query(DOMAIN, "mean(pay)")
    for share in (0, 1, -0.1, float("nan"), "0.1"):
        with pytest.raises(gd.InvalidRequest, match="share"):
            gd.with_sampling_error(mean, share)
    with pytest.raises(gd.InvalidRequest, match="already includes the sampling error"):
        gd.with_sampling_error(gd.with_sampling_error(mean))


def test_intervals_of_another_name_are_refused_and_nothing_is_charged() -> None:
    ledger, table = gd.Ledger.in_memory(gd.PureDP(1)), gd.Table.scan(sample(9), domain=DOMAIN, name="survey")
    with pytest.raises(gd.GaugedpError, match="intervals"):
        gd.release(gd.query(DOMAIN, "mean(pay)"), table, ledger=ledger, epsilon=1.0, intervals="all")
    assert ledger.spent == gd.PureDP(0)


def test_a_publication_with_total_intervals_keeps_a_share_for_them(tmp_path) -> None:
    (tmp_path / "domain.toml").write_text(
        '[attributes]\nsex = ["1", "2"]\n[columns]\npay = { low = 0, high = 100 }\n'
        '[weights]\ncolumn = "w"\nlow = 1\nhigh = 5\n'
    )
    tables = '[[tables]]\ntitle = "Pay"\nquery = "mean(pay) by sex"\n'
    for intervals, parts in (("total", [0.75, 0.25]), ("noise", [1.0])):
        (tmp_path / "p.toml").write_text(f'title = "t"\nepsilon = 1.0\nintervals = "{intervals}"\n{tables}')
        publication = Publication.load(tmp_path / "p.toml")
        plan = publication.plan()
        assert [part.guarantee.epsilon_value for part in plan.mechanism.parts] == pytest.approx(parts)
    (tmp_path / "p.toml").write_text(f'title = "t"\nepsilon = 1.0\nintervals = "all"\n{tables}')
    with pytest.raises(gd.InvalidRequest, match="must be noise or total"):
        Publication.load(tmp_path / "p.toml")


@pytest.mark.parametrize("text", ["sum(w); weighted count", "weighted count; sum(w)", "share(sex); mean(w) by sex"])
def test_terms_about_the_weights_have_errors_and_titles_of_their_own(text) -> None:
    rows, terms = sample(), text.split("; ")
    answer = released(gd.query(DOMAIN, text), rows, 1e5, intervals="total")
    alone = [released(gd.query(DOMAIN, term), rows, 1e5, intervals="total") for term in terms]
    for errors, own in zip(answer.sampling_errors, alone, strict=False):
        assert errors == pytest.approx(own.sampling_errors[0], rel=1e-3)
    titles = {term.text: term.measure for term in read_terms(answer)}
    assert [titles[term] for term in terms] == [read_terms(own)[0].measure for own in alone]
    assert titles[terms[0]] != titles[terms[1]]


LEAVING = gd.Domain.of(sex=["1", "2"], age=["y"], pay=gd.bounded(0, 100)).with_weights("w", gd.bounded(1, 5))


@pytest.mark.parametrize("text", ["sex; mean(pay)", "sex; weighted count", "count; weighted count by sex"])
def test_second_moments_are_of_the_rows_of_their_part(text) -> None:
    rows = sample().replace({"sex": {"2": "out of domain"}}).assign(age="y")
    n, own = len(rows), (rows.sex == "1").to_numpy()
    w, x = rows.w.to_numpy(float), rows.pay.to_numpy(float)
    mean = np.average(x[own], weights=w[own])
    expected = np.sqrt((w[own] ** 2 * (x[own] - mean) ** 2).sum()) / w[own].sum()
    if "count" in text:
        expected = np.sqrt(n / (n - 1) * ((w[own] ** 2).sum() - w[own].sum() ** 2 / n))
    answer = released(gd.query(LEAVING, text), rows, 1e5, intervals="total")
    assert answer.sampling_errors[1][0] == pytest.approx(expected, rel=1e-3)
    assert gd.derive(answer, text, domain=LEAVING).raw == pytest.approx(
        answer.raw[: len(gd.query(LEAVING, text).labels)]
    )


def test_second_moments_of_parts_that_leave_out_other_rows_are_apart() -> None:
    tables = [gd.query(LEAVING, text) for text in ("mean(pay); sex", "sum(pay); age", "median(pay)")]
    moments = second_moments(shared(tables, [Fraction(1, 4)] * 3), Fraction(1, 4))
    texts = ["squared weights(pay) of rows with sex", "squared weights(pay) of rows with age", "count"]
    assert [part.text for part, _ in moments] == texts
    assert sum(share for _, share in moments) == Fraction(1, 4)


@pytest.mark.parametrize("text", ["squared weights; sex", "unweighted mean(pay); squared weights by sex"])
def test_intervals_are_total_only_if_some_interval_is(text) -> None:
    answer = released(gd.query(DOMAIN, text), sample(50), 1.0)
    assert (answer.intervals, answer.facts["intervals"]) == ("noise", "noise")


def test_tables_with_steps_of_their_own_leave_second_moments_as_they_are(tmp_path) -> None:
    (tmp_path / "domain.toml").write_text(
        '[attributes]\nsex = ["1", "2"]\n[columns]\npay = { low = 0, high = 100 }\n'
        '[weights]\ncolumn = "w"\nlow = 1\nhigh = 5\n'
    )
    tables = '[[tables]]\ntitle = "Pay"\nquery = "mean(pay)"\n[[tables]]\ntitle = "Rows"\nquery = "sex"\nround = true\n'
    (tmp_path / "p.toml").write_text(f'title = "t"\nepsilon = 1.0\nintervals = "total"\n{tables}')
    publication = Publication.load(tmp_path / "p.toml")
    plan = publication.plan()
    table = gd.Table.scan(sample(50), domain=publication.domain, name="survey")
    answer = gd.release(plan.query, table, ledger=gd.Ledger.in_memory(gd.PureDP(9)), planned=plan)
    assert np.array_equal(publication.finished(answer, plan.query).values[3:], answer.raw[3:])


def test_an_ordinary_survey_has_total_intervals_at_a_small_epsilon() -> None:
    """Incomes up to 100,000 and weights up to 600: noise for the squares of both must fit 64 bits."""
    domain = gd.Domain.of(sex=["1", "2"], pay=gd.bounded(0, 100_000)).with_weights("w", gd.bounded(1, 600))
    query = gd.with_sampling_error(gd.query(domain, "weighted count by sex; mean(pay) by sex"))
    assert gd.plan(query, gd.PrivacyUnit(), epsilon=0.1).epsilon == pytest.approx(0.1)


def test_a_terminal_shows_what_was_asked_for_and_counts_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    show_answers(released(gd.query(DOMAIN, "mean(pay) by sex; weighted count"), sample(), 1e5, intervals="total"))
    shown = capsys.readouterr().out
    assert "mean(pay) by sex" in shown
    assert "squared weights" not in shown
    assert "sums for the sampling errors are not shown" in shown
    show_answers(released(gd.query(DOMAIN, "squared weights by sex"), sample(), 1e5))
    assert "squared weights by sex" in capsys.readouterr().out
