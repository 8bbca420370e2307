"""`gaugedp fit`: what it prints, costs, stores and refuses; on the example, and on a table full of secrets."""

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from gaugedp.errors import STAYS_SPENT
from gaugedp.guarantees import ApproxDP, PureDP, from_dict
from tests.cli.kit import DOMAIN, HEADER, Desk, check_sentence, check_silence
from tests.forking import Done

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")

ACS = Path(__file__).resolve().parents[2] / "examples" / "acs"
LOOKING = "Reading the rows and fitting the model ..."
USUAL = {
    "domain": "domain.toml",
    "model": "linear",
    "target": "PAY",
    "features": "SEX, AGE",
    "epsilon": "0.5",
    "ledger": "people.ledger",
}


def fit(desk: Desk, table: str = "people.csv", *flags: str, **chosen: str | None) -> Done:
    """Run `gaugedp fit` with the usual options; None leaves out."""
    given = {**USUAL, **chosen}
    options = [word for name, text in given.items() if text is not None for word in (f"--{name}", text)]
    return desk.gaugedp("fit", table, *options, *flags)


def fitted(desk: Desk, table: str = "people.csv", **chosen: str | None) -> dict:
    done = fit(desk, table, "--json", **chosen)
    assert done.code == 0, done.err
    check_silence(done)
    return json.loads(done.out)


def check_refused(desk: Desk, *words: str, code: int = 2, **chosen: str | None) -> None:
    """Refused beside a ledger, and where the ledger would be made; no file appears, changes or goes."""
    before = desk.files()
    requests = [{"out": "model.json", **chosen}]
    if "ledger" not in chosen:
        requests.append({"ledger": "new.ledger", "budget": "2,1e-5", **requests[0]})
    for request in requests:
        check_sentence(fit(desk, **request), code, *words)
        assert desk.files() == before


# -- the example -----------------------------------------------------------------------------------


@pytest.fixture
def acs(desk: Desk) -> Desk:
    shutil.copyfile(ACS / "acs_ma2018.csv", desk.folder / "acs.csv")
    shutil.copyfile(ACS / "domain.toml", desk.folder / "acs.toml")
    return desk


def acs_model(desk: Desk, model: str, target: str, features: str, **chosen: str) -> dict:
    given = {"domain": "acs.toml", "ledger": "acs.ledger", "budget": "20,1e-5", "delta": "1e-6"}
    return fitted(desk, "acs.csv", model=model, target=target, features=features, **given, **chosen)


def test_income_by_schooling_on_the_example(acs: Desk) -> None:
    actual = acs_model(acs, "linear", "PINCP", "EDU, AGEP, SEX", epsilon="4", score="4")
    assert list(actual["coefficients"])[:2] == ["EDU=N", "EDU=1"]
    weights = actual["coefficients"]
    assert weights["EDU=12"] - weights["EDU=8"] > 10_000, "dollars that come with a doctorate"
    score = actual["score"]
    assert score["name"] == "mean absolute error"
    assert score["lower"] <= score["value"] <= score["upper"]
    assert score["value"] < 38_000, "the mean of everybody is off by 43,489, least squares without noise by 32,660"
    assert actual["classes"] is None
    assert acs.ledger("acs.ledger").spent == ApproxDP(4, 1e-6)


def test_income_in_the_norm_l1_on_the_example(acs: Desk) -> None:
    actual = acs_model(acs, "linear", "PINCP", "EDU, AGEP, SEX", epsilon="4", score="4", norm="l1", radius="2")
    facts = actual["facts"]
    assert (facts["estimator"], facts["norm"], facts["radius"]) == ("Lasso", "l1", 2.0)
    assert actual["coefficients"]["EDU=12"] >= actual["coefficients"]["EDU=1"]
    assert actual["score"]["value"] < 42_000, "the mean of everybody is off by 43,489"
    assert acs.ledger("acs.ledger").spent == ApproxDP(4, 1e-6)


@pytest.mark.parametrize("model", ["logistic", "svc"])
def test_owning_a_home_by_income_on_the_example(acs: Desk, model: str) -> None:
    actual = acs_model(acs, model, "OWN_RENT", "HOUSING_TYPE, MSP, POVPIP, PUMA", epsilon="4", score="4")
    assert actual["classes"] == ["0", "1", "2"]
    assert set(actual["intercept"]) == {"0", "1", "2"}
    assert set(actual["coefficients"]["POVPIP"]) == {"0", "1", "2"}
    assert actual["score"]["name"] == "accuracy"
    assert 0.78 < actual["score"]["value"] < 0.95, "the most frequent class is right for 74 %"


@pytest.mark.parametrize("model", ["logistic", "svc"])
def test_two_classes_have_one_score(acs: Desk, model: str) -> None:
    actual = acs_model(acs, model, "DEYE", "AGEP", epsilon="4", score="4")
    assert actual["classes"] == ["1", "2"]
    assert isinstance(actual["intercept"], float)
    assert all(isinstance(number, float) for number in actual["coefficients"].values())
    assert actual["score"]["value"] > 0.9, "98 % see well"


# -- what it prints, stores and costs --------------------------------------------------------------


def test_the_model_is_printed_written_and_stored(desk: Desk) -> None:
    done = fit(desk, "people.csv", "--json", out="model.json", delta="1e-6", ledger="new.ledger", budget="2,1e-5")
    assert done.code == 0
    check_silence(done)
    assert done.err.splitlines()[0] == "Opened a new ledger 'new.ledger' with a budget of ApproxDP(2, 1e-05)."
    assert done.err.splitlines()[2] == LOOKING
    actual = json.loads(done.out)
    assert actual == json.loads((desk.folder / "model.json").read_text("utf-8"))
    assert from_dict(actual["guarantee"]) == ApproxDP(0.5, 1e-6) == desk.ledger("new.ledger").spent
    assert (actual["model"], actual["target"], actual["score"]) == ("linear", "PAY", None)
    assert len(actual["coefficients"]) == 2 + 10
    assert actual["facts"]["unit"] == {"column": None, "neighbours": "add_remove", "max_rows": 1}
    assert actual["facts"]["table"] == "people"
    assert all(len(rule) > 20 for rule in actual["facts"]["rules"]), "sentences, not letters"
    assert any("Malformed lines are left out" in rule for rule in actual["facts"]["rules"])
    assert actual["facts"]["research_seed"] is None
    assert actual["facts"]["account"]["durable"] is True
    assert from_dict(actual["facts"]["guarantee_for_a_row"]).epsilon(1e-6) <= 0.5 * (1 + 1e-9)
    assert desk.ledger("new.ledger").verify().unsettled == ()


def test_the_model_is_shown_for_people(desk: Desk) -> None:
    done = fit(desk, "people.csv", "--details", out="model.json")
    assert done.code == 0
    check_silence(done)
    lines = done.out.splitlines()
    assert lines[0] == "linear model of PAY, a numeric target (PureDP(0.5), exact)"
    for name in ("intercept", "SEX=1", "AGE=[90,100]"):
        assert any(line.startswith(name) for line in lines)
    assert lines[-1].startswith("No score was requested, ")
    rules = json.loads((desk.folder / "model.json").read_text("utf-8"))["facts"]["rules"]
    assert lines[-4 - len(rules)].startswith("To predict for a row, add the intercept, the coefficients of its cells")
    assert lines[-3 - len(rules) : -3] == rules
    assert re.fullmatch(r"To get this answer again at no cost, add --key [0-9a-f]{32}\.", lines[-3])
    assert lines[-2].startswith(
        "Spent PureDP(1) of PureDP(2); PureDP(1) is left. Entry 5 records the charge, and a later entry the result. "
        "Tip after entry 5: "
    )


def test_how_rows_are_read_is_told_where_details_are_asked_for_alone(desk: Desk) -> None:
    lines = fit(desk).out.splitlines()
    assert not any(line.startswith(("To predict for a row", "Malformed lines", "Intervals cover")) for line in lines)
    assert lines[-1].startswith("No score was requested, ")
    assert fit(desk, score="0.1", epsilon="0.1").out.splitlines()[-1].startswith("Held-out mean absolute error: ")


def test_a_score_that_says_nothing_is_called_so(acs: Desk) -> None:
    """Noise alone may look like rows, perhaps once in 100 times: three scores do not."""
    files = {"domain": "acs.toml", "ledger": "acs.ledger", "budget": "20,1e-5", "delta": "1e-6"}
    requested = {"features": "HOUSING_TYPE", "target": "OWN_RENT", "model": "logistic", "epsilon": "0.5"} | files
    words = "This carries no information: few or no rows"
    assert any(words in fit(acs, "acs.csv", **requested, score="1e-5").out for _ in range(3))
    assert "no information" not in fit(acs, "acs.csv", **requested, score="0.5").out


def test_a_large_delta_is_remarked_on_and_the_rule_for_text_is_said(desk: Desk) -> None:
    done = fit(desk, "people.csv", "--details", ledger="new.ledger", budget="2,0.01", delta="0.002")
    assert done.err.count("Remark: delta is 0.01: ") == done.err.count("Remark: delta is ") == 1
    assert "text that is not a plain number (such as 1,250 or €5) counts as missing" in done.out
    assert "Remark: delta is 0.002: " in fit(desk, ledger="new.ledger", delta="0.002").err


@pytest.mark.parametrize(("score", "cost"), [("0.1", 0.5), ("0.5", 0.5), ("1.25", 1.25)])
def test_a_score_costs_what_it_has_above_the_fit(desk: Desk, score: str, cost: float) -> None:
    actual = fitted(desk, score=score)
    assert desk.ledger().spent == PureDP(0.5 + cost)
    assert from_dict(actual["guarantee"]) == PureDP(cost)
    assert from_dict(actual["score"]["guarantee"]) == PureDP(float(score))
    assert 0 <= actual["score"]["lower"] <= actual["score"]["value"] <= actual["score"]["upper"] <= 1000
    assert len(desk.ledger().verify().unsettled) == 0
    said = fit(desk, score="0.1", epsilon="0.1").out
    assert re.search(
        r"Held-out mean absolute error: \S+ with noise; the exact value on these rows is between \S+ and", said
    )


def test_a_key_brings_the_stored_model_back(desk: Desk) -> None:
    first = fitted(desk, key="my-key")
    (desk.folder / "people.csv").write_text(",".join(HEADER) + "\n")  # it is stored, not fitted again
    assert fitted(desk, key="my-key") == first
    assert desk.ledger().spent == PureDP(1)
    fitted(desk, key="another")
    said = fit(desk, key="my-key").out.splitlines()
    assert (
        said[-3] == "This is the stored model of entry 5, charged earlier; nothing was read and nothing was spent now."
    )
    assert said[-2].startswith("Spent PureDP(1.5) of PureDP(2); PureDP(0.5) is left. Tip after entry 8: "), "as of now"
    for other in ({"features": "SEX"}, {"features": "AGE, SEX"}, {"score": "0.5"}, {"epsilon": "0.4"}, {"radius": "2"}):
        assert fit(desk, key="my-key", **other).code == 3
    (desk.folder / "domain.toml").write_text(DOMAIN.replace("high = 1000", "high = 2000"))
    assert fit(desk, key="my-key").code == 3, "other bounds are another request"
    assert desk.ledger().spent == PureDP(1.5)


def test_a_radius_holds_the_coefficients_and_is_told(desk: Desk) -> None:
    actual = fitted(desk, radius="0.001", ledger="rich.ledger", budget="1e6", epsilon="1e5")
    assert actual["facts"]["radius"] == 0.001
    assert max(map(abs, actual["coefficients"].values())) <= 0.5, "dollars, of 1,000 that there are"
    assert "Planning" not in fit(desk).err, "no mechanisms are compared"


def test_two_fits_of_one_table_differ(desk: Desk) -> None:
    first, second = (fitted(desk, ledger="large.ledger", budget="200", epsilon="50") for _ in range(2))
    assert first["intercept"] != second["intercept"]


def test_a_table_without_rows_is_fitted_like_any_other(desk: Desk) -> None:
    (desk.folder / "empty.csv").write_text(",".join(HEADER) + "\n")
    actual = fitted(desk, "empty.csv", score="0.5")
    assert 0 <= actual["score"]["lower"] <= actual["score"]["upper"] <= 1000
    assert desk.ledger().spent == PureDP(1)


@pytest.mark.parametrize(
    ("unit", "size"),
    [('neighbours = "replace"', 2), ('column = "PID"\nmax_rows = 2', 2), ('column = "PID"\nneighbours = "replace"', 2)],
)
def test_the_guarantee_is_to_the_unit_of_the_domain_file(desk: Desk, unit: str, size: int) -> None:
    (desk.folder / "domain.toml").write_text(
        f"{DOMAIN.replace('[attributes]', f'[unit]{chr(10)}{unit}{chr(10)}[attributes]')}"
    )
    actual = fitted(desk, ledger="new.ledger", budget="2,1e-5", delta="1e-6", score="0.5")
    assert from_dict(actual["guarantee"]) == ApproxDP(0.5, 1e-6) == desk.ledger("new.ledger").spent
    assert from_dict(actual["facts"]["asked"]) == ApproxDP(0.5, 1e-6), "for the unit, not for a row"
    for_a_row = from_dict(actual["facts"]["guarantee_for_a_row"])
    assert for_a_row.epsilon(5e-7) <= 0.5 / size * (1 + 1e-9)
    assert desk.ledger("new.ledger").unit.to_dict() == actual["facts"]["unit"]


def test_a_ledger_of_another_currency_is_charged_where_it_can_be(desk: Desk) -> None:
    actual = fitted(desk, ledger="rho.ledger", budget="rho=1")
    assert from_dict(actual["guarantee"]) == PureDP(0.5)
    assert fit(desk, ledger="rho.ledger", delta="1e-6").code == 3
    chosen = {"model": "svc", "target": "AGE", "features": "SEX", "score": "0.25"}
    gaussian = fitted(desk, ledger="rho.ledger", delta="1e-6", **chosen)
    guarantee = from_dict(gaussian["guarantee"])
    assert guarantee.cost("zcdp") is not None
    assert 0.5 < guarantee.epsilon(1e-6) <= 0.75, "the sum: there is no cost for the larger of the two"


def test_a_budget_without_a_cost_is_refused_before_a_ledger_is_made(desk: Desk) -> None:
    done = fit(desk, ledger="fresh.ledger", budget="2", delta="1e-6")
    assert done.code == 3
    assert "use a ledger with a budget of that kind" in done.err
    assert not (desk.folder / "fresh.ledger").exists()
    assert fit(desk, ledger="fresh.ledger", budget="2,1e-5", delta="1e-6").code == 0


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        (("`model` is 'forest'", "logistic"), {"model": "forest"}),
        (("no bounded column 'PAZ'", "Did you mean 'PAY'"), {"target": "PAZ"}),
        (("no attribute or bounded column 'COLOUR'",), {"features": "SEX, COLOUR"}),
        (("no attribute or bounded column 'NOTE'",), {"features": "NOTE"}),
        (("PAY is both the target and a feature",), {"features": "SEX, PAY"}),
        (("at least one feature",), {"features": " , "}),
        (("must be named once",), {"features": "SEX, AGE,SEX"}),
        (("The target SEX", "bounded column"), {"target": "SEX", "features": "AGE"}),
        (("The target PAY", "attribute"), {"model": "logistic"}),
        (("The target PAY", "attribute"), {"model": "svc"}),
        (("`epsilon` is '1_0'",), {"epsilon": "1_0"}),
        (("`epsilon` is -1",), {"epsilon": "-1"}),
        (("`epsilon` is nan",), {"epsilon": "nan"}),
        (("`delta` is -1",), {"delta": "-1"}),
        (("`delta` is 1",), {"delta": "1"}),
        (("Separate names by commas: SEX, AGE",), {"features": "SEX AGE"}),
        (("`radius` is 'wide'",), {"radius": "wide"}),
        (("`radius` is -1",), {"radius": "-1"}),
        (("`score` is 'much'",), {"score": "much"}),
        (("`score` is 0",), {"score": "0"}),
        (("`score` is inf",), {"score": "inf"}),
        (("does not describe a privacy budget",), {"budget": "much"}),
        (("The key is not",), {"key": ""}),
        (("no domain file",), {"domain": "absent.toml"}),
        (("cannot be written",), {"out": "absent/model.json"}),
        (("is also the domain file",), {"out": "domain.toml"}),
        (("ledger in memory",), {"ledger": ":memory:"}),
        (("`norm` is 'l3'",), {"norm": "l3"}),
        (("Reference levels apply only to linear models",), {"norm": "l1", "reference": "SEX=1"}),
    ],
    ids=str,
)
def test_a_wrong_request(desk: Desk, words: tuple[str, ...], chosen: dict[str, str]) -> None:
    check_refused(desk, *words, **chosen)


@pytest.mark.parametrize("chosen", [{"epsilon": "1e-300"}, {"score": "1e-300"}], ids=str)
def test_a_guarantee_that_no_noise_can_keep(desk: Desk, chosen: dict[str, str]) -> None:
    check_refused(desk, **chosen)


def test_a_missing_table(desk: Desk) -> None:
    before = desk.files()
    check_sentence(fit(desk, "absent.csv"), 2, "no file 'absent.csv'")
    assert desk.files() == before


@pytest.mark.parametrize("chosen", [{"epsilon": "1.6"}, {"delta": "1e-6"}, {"score": "1.6"}], ids=str)
def test_what_the_ledger_does_not_allow(desk: Desk, chosen: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gaugedp.tables.table.Table.rows", lambda *_: pytest.fail("the table was read"))
    check_refused(desk, code=3, ledger="people.ledger", **chosen)
    assert desk.ledger().spent == PureDP(0.5)


def test_without_the_extra_nothing_is_read_or_spent(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("gaugedp.estimators")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    check_refused(desk, "not installed", "pip install 'gaugedp[learn]'")


# -- after paying ----------------------------------------------------------------------------------


def test_trouble_while_looking_keeps_the_budget_spent(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("SECRET-7731")

    monkeypatch.setattr("gaugedp.estimators.table_rows.TableDesign.read", fail)
    done = fit(desk, out="model.json")
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines()[-1].endswith(STAYS_SPENT)
    check_silence(done)
    assert desk.ledger().spent == PureDP(1)
    assert len(desk.ledger().verify().unsettled) == 1
    assert not (desk.folder / "model.json").exists()


def test_an_interruption_while_looking_says_what_was_spent(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("gaugedp.estimators.table_rows.TableDesign.read", interrupt)
    done = fit(desk)
    assert (done.code, done.err.splitlines()[-1]) == (130, f"Interrupted. {STAYS_SPENT}")
    assert desk.ledger().spent == PureDP(1)


def test_a_model_that_cannot_be_written_is_kept(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("gaugedp.cli.output.write_beside", full)
        done = fit(desk, out="model.json", key="my-key")
    assert (done.code, done.out) == (1, "")
    assert "--key my-key" in done.err
    assert fitted(desk, key="my-key")["target"] == "PAY"
    assert desk.ledger().spent == PureDP(1)


def test_help_names_the_options(desk: Desk) -> None:
    text = desk.gaugedp("fit", "--help").out
    assert all(f"--{name}" in text for name in [*USUAL, "delta", "score", "budget", "key", "out", "json"])


# -- ratings -------------------------------------------------------------------------------------------


def test_ratings_are_fitted_stored_and_predicted(desk: Desk) -> None:
    lines = [f"{user},{item},{1 + (user + item) % 5}" for user in range(1, 40) for item in range(1, 6)]
    (desk.folder / "rated.csv").write_text("\n".join(["who,what,stars", *lines, "99,1,5", "1,2,"]), "utf-8")
    text = 'name = "rated"\n[unit]\nneighbours = "add_remove"\ncolumn = "who"\nmax_rows = 5\n'
    text += "[attributes]\nwho = { from = 1, to = 40 }\nwhat = { from = 1, to = 5 }\n"
    (desk.folder / "rated.toml").write_text(text + "[columns]\nstars = { low = 1, high = 5 }\n", "utf-8")
    requested = {
        "domain": "rated.toml",
        "model": "ratings",
        "target": "stars",
        "features": "who, what",
        "ledger": "r.ledger",
    }
    done = fit(desk, "rated.csv", **requested, budget="1", epsilon="1", key="k", out="model.json")
    assert done.code == 0, done.err
    assert "ratings model of stars" in done.out
    assert desk.ledger("r.ledger").spent == PureDP(1)
    again = fit(desk, "rated.csv", "--json", **requested, epsilon="1", key="k")
    assert json.loads(again.out) == json.loads((desk.folder / "model.json").read_text("utf-8"))
    predicted = desk.gaugedp("predict", "rated.csv", "--model", "model.json", "--domain", "rated.toml")
    assert predicted.code == 0, predicted.err
    rows = [line.split(",") for line in predicted.out.splitlines()[1:]]
    assert len(rows) == len(lines) + 2
    assert all(1 <= float(row[-1]) <= 5 for row in rows), "a user whom nobody knows gets the items' means"


def test_items_are_recommended_to_one_user_by_their_own_ratings(desk: Desk) -> None:
    """Later items are rated higher, and every other user rates all of them higher; the model knows no user."""
    liked = [(user, item, 1 + item // 2 + 2 * (user % 2)) for user in range(1, 61) for item in range(1, 5)]
    lines = [f"{user},{item},{stars}" for user, item, stars in liked]
    (desk.folder / "rated.csv").write_text("\n".join(["who,what,stars", *lines]), "utf-8")
    text = 'name = "rated"\n[unit]\nneighbours = "add_remove"\ncolumn = "who"\nmax_rows = 4\n'
    text += "[attributes]\nwho = { from = 1, to = 60 }\nwhat = { from = 1, to = 4 }\n"
    (desk.folder / "rated.toml").write_text(text + "[columns]\nstars = { low = 1, high = 5 }\n", "utf-8")
    requested = {"domain": "rated.toml", "model": "ratings", "target": "stars", "features": "who, what"}
    words = {"ledger": "r.ledger", "budget": "900,1e-5", "epsilon": "800", "delta": "1e-6", "out": "model.json"}
    assert fit(desk, "rated.csv", **requested, **words).code == 0
    command = ("recommend", "own.csv", "--model", "model.json", "--domain", "rated.toml", "-n", "2")

    def told(*rows: str) -> dict[str, float]:
        (desk.folder / "own.csv").write_text("\n".join(["who,what,stars", *rows]), "utf-8")
        assert desk.gaugedp(*command, "--out", "best.csv").code == 0
        best = (desk.folder / "best.csv").read_text("utf-8").splitlines()[1:]
        return {item: float(rating) for item, rating in (line.split(",") for line in best)}

    for stranger in ("7", "61"):  # who is not in the table is told as much
        high, low = (told(f"{stranger},1,{stars}", f"{stranger},9,5", f"{stranger},3,") for stars in (4, 1))
        assert list(high) == list(low) == ["4", "2"], "what stands in the file is left out, the highest is first"
        assert high["4"] > low["4"] + 0.5
        assert len(told()) == 2
    (desk.folder / "own.csv").write_text("who,what,stars\n7,1,4", "utf-8")
    assert "for this user only" in desk.gaugedp(*command).out
    for rows, words in (
        ("7,1,4\n8,1,4", "of several users"),
        ("7,1,4\n,2,4", "does not name a user"),
        (",1,4\n ,2,4", "does not name a user"),
    ):
        (desk.folder / "own.csv").write_text(f"who,what,stars\n{rows}", "utf-8")
        refused = desk.gaugedp(*command)
        assert (refused.code, words in refused.err) == (2, True)


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"score": "1"}, "does not accept a score"),
        ({"radius": "1"}, "does not accept a score"),
        ({"target": "SEX"}, "predicts another (bounded column)"),
        ({"features": "SEX"}, "the users and the items"),
    ],
)
def test_what_ratings_do_not_take_is_refused(desk: Desk, chosen: dict[str, str], words: str) -> None:
    check_refused(desk, words, model="ratings", **{"features": "SEX, AGE", **chosen})
