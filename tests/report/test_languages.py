"""Every catalogue has the keys and slots of the English one; a page in another language has no English sentence."""

import json
import re
from pathlib import Path

import pytest

import gaugedp as gd
from gaugedp._internal import language
from gaugedp._internal.language import (
    ENGLISH,
    LANGUAGES,
    _filled,
    _slot,
    catalogue,
    dated,
    localised,
    say,
    translated,
    written_in,
)
from gaugedp.errors import InvalidRequest
from gaugedp.report import render
from gaugedp.report.press import press
from gaugedp.statistics import KINDS
from tests.report.test_html import Reader, made, text

pytest.importorskip("matplotlib", reason="matplotlib is not installed: the extra gaugedp[report]")

GALLERY = sorted((Path(__file__).parents[2] / "docs" / "gallery").glob("*/release.json"))
OTHERS = [code for code in LANGUAGES if code != ENGLISH]


def forms(entry: language.Entry) -> list[str]:
    return [entry] if isinstance(entry, str) else list(entry.values()) if isinstance(entry, dict) else list(entry)


@pytest.mark.parametrize("code", OTHERS)
def test_catalogues_have_the_same_keys_and_slots(code: str) -> None:
    english, other = catalogue(ENGLISH), catalogue(code)
    assert list(other) == list(english)
    for key, entry in english.items():
        slots = sorted(re.findall(r"\{(\w*)\}", forms(entry)[0]))
        assert isinstance(other[key], type(entry)), key
        for form in forms(other[key]):
            if key.startswith("dates."):
                assert set(re.findall(r"\{(\w*)\}", form)) <= {"of_month", "month", "year", "quarter", "week", "iso"}
            else:
                assert sorted(re.findall(r"\{(\w*)\}", form)) == slots, key
        if isinstance(entry, list):
            assert len(forms(other[key])) == len(entry)
        if isinstance(entry, dict):
            assert set(other[key]) == {language.PLURALS[code](n) for n in range(1, 200)}, key


@pytest.mark.parametrize("code", OTHERS)
def test_words_of_a_page_come_from_the_catalogue_or_the_domain(code: str) -> None:
    own = words(" ".join(form for entry in catalogue(code).values() for form in forms(entry)))
    assert len(GALLERY) > 3
    for path in GALLERY[:: len(GALLERY) // 3]:
        release = gd.Release.from_json(path.read_text("utf-8")).in_language(code)
        names = (release.facts[name] for name in ("captions", "query", "table", "digest", "account", "mechanism"))
        known = own | words(json.dumps([*names, release.labels.by_terms()], ensure_ascii=False)) | {"gaugedp", "utf"}
        for page in (render(release), press(release)):
            assert f'<html lang="{code}">' in page
            shown = re.sub(r"<pre.*?</pre>|<style>.*?</style>", "", page, flags=re.DOTALL)
            for said in Reader(shown).texts:
                assert words(re.sub(r"\w*…", "", said)) <= known, said


def words(said: str) -> set[str]:
    return set(re.findall(r"[^\W\d_]{2,}", said.casefold()))


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.parent.name)
def test_stored_facts_are_translated(path: Path) -> None:
    facts = gd.Release.from_json(path.read_text("utf-8")).facts
    noise = [part for offer in facts["candidates"] for part in offer["noise"].split("; ")]
    with written_in("de"):
        for fact in (*facts["rules"], facts["protects"], *noise):
            assert translated(fact) != fact


def test_a_fact_is_read_to_its_last_word() -> None:
    wanted = {
        "rounded Gaussian on the Toeplitz square root x 2 cells, std 1 to 2": "Toeplitz-Quadratwurzel x 2 Zellen",
        "K-norm noise of rank 10, rate 1, by rejection, 2.5 trials a draw": "durch Verwerfung, 2,5 Versuche je Ziehung",
        "discrete Gaussian, std 1.5 to 2": "Standardabweichung 1,5 bis 2",
        "v is clipped to [0, 5] in steps of 0.5; text that is not a number such as 1,250.5 counts as missing. "
        "v = 9 counts as missing. Where v is missing it counts as 0.5.": "keine wie 1,250.5 geschriebenen Zahlen "
        "sind, gelten als fehlend. v = 9 gilt als fehlend. Fehlt „v“, zählt stattdessen 0,5.",
        "n is the largest v in a pid's rows, each clipped to [0, 9] in steps of 1; rows without one are "
        "skipped.": "der größte Wert von v",
        "rate 0.5 to 0.75 a row": "Rate 0,5 bis 0,75 je Rang",
        "Rows whose new is missing or out of domain are left out of the whole query.": "ungültiger Angabe zu „new“",
        "rounded Laplace on a tree of 3 levels, branching 2, std 1.5 to 2": "auf einem Baum mit 3 Ebenen",
        "least expected error, 22,511,533": "kleinster erwarteter Fehler",
        "the shortest reach on ordinary tables; the expected error of ranks is at most 22,511,533 rows": "höchstens "
        "etwa 22,5 Millionen Rängen",
        "v is clipped to [0, 5] in steps of 1; v = 9 counts as missing. Rows where v is missing are left out of the "
        "terms about it.": "auf ganze Zahlen gerundet",
        "A sentence of a plugin.": "A sentence of a plugin.",
    }
    with written_in("de"):
        for fact, said in wanted.items():
            assert said in translated(fact)
    answer = made("SEX; AGEP; SEX*AGEP", epsilon=0.5).in_language("de")
    assert "(kleinster erwarteter Fehler)" in render(answer)
    assert "(against" not in render(answer)


def test_titles_of_all_statistics_are_known() -> None:
    known = {form for key, entry in catalogue(ENGLISH).items() if key.startswith("measures.") for form in forms(entry)}
    for kind in KINDS.values():
        assert {kind.wording.title, kind.wording.title_alone} <= known | {""}


def test_numbers_dates_and_plurals_follow_the_language() -> None:
    wanted = {
        "en": ("1,234.5", "March 2017", "2017-01-31", "Q2 2017"),
        "de": ("1.234,5", "März 2017", "31. Januar 2017", "2. Quartal 2017"),
        "fr": ("1\u202f234,5", "mars 2017", "31 janvier 2017", "T2 2017"),
        "es": ("1.234,5", "marzo de 2017", "31 de enero de 2017", "T2 de 2017"),
        "sl": ("1.234,5", "marec 2017", "31. januar 2017", "2. četrtletje 2017"),
    }
    for code, expected in wanted.items():
        with written_in(code):
            assert (localised("1,234.5"), dated("2017-03"), dated("2017-01-31"), dated("2017-Q2")) == expected
            assert dated("2017-13") == "2017-13"
    with written_in("sl"):
        said = [say("answers.table", n, count=n).rpartition(" ")[2] for n in (1, 2, 3, 5, 101, 102, 104, 11)]
    assert said == ["vrstica", "vrstici", "vrstice", "vrstic", "vrstica", "vrstici", "vrstice", "vrstic"]
    with written_in("fr"):
        assert say("measures.count", rows="infractions") == "Nombre d’infractions"


def test_the_language_ends_with_the_page(tmp_path: Path) -> None:
    answer = made("SEX; AGEP", epsilon=0.5)
    english = render(answer)
    answer.save_html(tmp_path / "a.html", language="sl")
    answer.save_press_html(tmp_path / "p.html", language="fr")
    assert "Rezultati" in text((tmp_path / "a.html").read_text("utf-8"))
    assert "Pour la presse" in text((tmp_path / "p.html").read_text("utf-8"))
    assert render(answer) == english
    german = answer.in_language("de")
    again = gd.Release.from_json(german.to_json())
    assert render(again) == render(german) != english
    assert german.columns() == answer.columns()


@pytest.mark.parametrize("code", ["xx", "", "DE", None, 3, ["de"]])
def test_an_unknown_language_is_refused(code: object) -> None:
    answer = made("SEX", epsilon=0.5)
    with pytest.raises(InvalidRequest, match="Choose one of en, de, fr, es, sl"):
        answer.in_language(code)  # type: ignore[arg-type]
    stored = answer.to_json().replace('"unit":', f'"language": "{code}", "unit":', 1)
    with pytest.raises(InvalidRequest, match="not a release"):
        gd.Release.from_json(stored)


@pytest.mark.parametrize("code", OTHERS)
def test_no_word_of_a_described_noise_stays_english(code: str) -> None:
    domain = gd.Domain.of(s=["1", "2"], a=gd.bins(0, 100, 10), v=gd.bounded(0, 100), u=gd.bounded(-50, 50))
    own = words(" ".join(form for entry in catalogue(code).values() for form in forms(entry))) | {"laplace", "gaussian"}
    for query in ("s*a; s", "ranges(a)", "prefix(a)*s", "sum(v); sum(u)", "median(v)", "mean(v) by s"):
        for asked in ({"epsilon": 1.0}, {"rho": 0.5}):
            for offer in gd.plan(gd.query(domain, query), gd.PrivacyUnit(), **asked).candidates:
                with written_in(code):
                    said = "; ".join(map(translated, offer.mechanism.describe().split("; ")))
                assert words(re.sub(r"10⁻?[⁰¹²³⁴-⁹]+", "", said)) <= own, said


def test_french_elides_before_a_name_and_not_within_it() -> None:
    with written_in("fr"):
        assert _filled("le nombre de {rows} selon {name}", rows="arrêts", name="Guy de Oliveira") == (
            "le nombre d’arrêts selon Guy de Oliveira"
        )
        assert _filled("moyenne de {} et de {}", "visite", "âge") == "moyenne de visite et d’âge"


def test_names_that_are_numbers_and_long_facts_stay() -> None:
    with written_in("de"):
        assert _slot("column", "2.018") == "2.018"
        assert _slot("count", "2,018") == "2.018"
        long = "Left out: " + ", ".join(["rows whose a is missing or out of domain"] * 400)
        assert translated(long) == long
