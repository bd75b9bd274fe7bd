"""The report in a real browser: it works, for everyone, and whatever the names."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from strange_names import NASTY

selenium = pytest.importorskip("selenium")

from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.wait import WebDriverWait  # noqa: E402

pytestmark = pytest.mark.slow

MOST_NODES = 12_000


def ask(browser, expression):
    return browser.execute_script(f"return {expression}")


def column(browser, place):
    """Texts of a column of the table of picks."""
    rows = "[...document.querySelectorAll('.picks tbody tr:not(.details)')]"
    return ask(browser, f"{rows}.map((row) => row.children[{place}].innerText.trim())")


def ranks(browser):
    return [int(text) for text in column(browser, 0)]


def heads(browser):
    return {
        button.text.split()[0]: button
        for button in browser.find_elements(By.CSS_SELECTOR, ".picks thead button")
    }


def by_score(gathered):
    return [p["rank"] for p in sorted(gathered["picks"], key=lambda p: (p["score"], p["rank"]))]


def drawn_bars(browser):
    """Widths of the bars of the first chart."""
    bars = "#picks .chart g[aria-label=bar] > *"
    return ask(browser, f"[...document.querySelectorAll('{bars}')].map((b) => b.getBBox().width)")


def keys(browser, *pressed):
    ActionChains(browser).send_keys(*pressed).perform()


def focus(browser):
    """What has the focus: its id, or its text."""
    return ask(browser, "document.activeElement.id || document.activeElement.innerText.trim()")


def press(browser, selector):
    """Click on all that match, each brought to the middle of the window first."""
    for found in browser.find_elements(By.CSS_SELECTOR, selector):
        browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", found)
        found.click()


def axe(browser):
    """Names of what axe-core finds to be serious or critical.

    It is the axe-core that PROJSE_AXE names (``axe.min.js`` of the npm package), else that of
    axe-core-python, which is older.
    """
    from axe_core_python.selenium import Axe

    newer = os.environ.get("PROJSE_AXE")
    if newer:
        browser.execute_script(Path(newer).read_text(encoding="utf-8"))
        run = "const done = arguments[0]; axe.run().then(done, (error) => done(String(error)))"
        answer = browser.execute_async_script(run)
    else:
        answer = Axe().run(browser)
    found = answer["violations"]
    bad = [v for v in found if v["impact"] in {"serious", "critical"}]
    return [(v["id"], [node["html"][:200] for node in v["nodes"][:3]]) for v in bad]


def test_it_opens_from_disk_and_shows_every_section(opened, whole):
    browser = opened(whole)
    ids = ask(browser, "[...document.querySelectorAll('main > section')].map((s) => s.id)")
    assert ids == ["summary", "checks", "picks", "explained", "cv", "stability", "repeat"]
    links = ask(browser, "[...document.querySelectorAll('nav a')].map((a) => a.hash)")
    assert links == [f"#{id}" for id in ids[1:]]
    assert "12 of 30 variables" in browser.title
    assert ranks(browser) == list(range(1, 13))
    assert whole["repeat"]["data"]["moments"] in browser.page_source


def test_a_report_of_nothing_opens_too(opened, whole):
    nothing = {
        "picks": [],
        "explained": None,
        "cv": None,
        "stability": None,
        "has_stand_ins": False,
    }
    browser = opened({**whole, **nothing})
    assert "No variable was selected" in browser.find_element(By.ID, "picks").text


def test_charts_draw_a_mark_for_every_number(opened, whole):
    browser = opened(whole)
    assert len(drawn_bars(browser)) == 12
    widths = drawn_bars(browser)
    scores = [pick["score"] for pick in whole["picks"]]
    assert widths == pytest.approx([s * widths[0] / scores[0] for s in scores], rel=0.02)
    cells = ask(browser, "document.querySelectorAll('#explained g[aria-label=cell] > rect').length")
    assert cells == 12 * 6
    curves = "document.querySelectorAll('#cv .chart g[aria-label=line] path').length"
    assert ask(browser, curves) == len(whole["cv"]["curves"])
    shares = "document.querySelectorAll('#stability .chart g[aria-label=bar] > *').length"
    assert ask(browser, shares) == min(30, len(whole["stability"]["frequencies"]))


def test_every_chart_has_a_text_alternative(opened, whole):
    browser = opened(whole)
    labels = ask(browser, "[...document.querySelectorAll('.chart')].map((c) => c.ariaLabel)")
    assert len(labels) >= 6
    assert all(len(label) > 30 for label in labels)
    assert f"{whole['picks'][0]['score']:.3f}" in labels[0]


def test_the_head_sorts_both_ways_and_says_so(opened, whole):
    browser = opened(whole)
    score = heads(browser)["Score"]
    cell = score.find_element(By.XPATH, "..")
    assert cell.get_attribute("aria-sort") is None
    score.click()
    assert ranks(browser) == by_score(whole)
    assert cell.get_attribute("aria-sort") == "ascending"
    score.click()
    assert [whole["picks"][r - 1]["score"] for r in ranks(browser)] == sorted(
        (p["score"] for p in whole["picks"]), reverse=True
    )
    assert cell.get_attribute("aria-sort") == "descending"
    assert "descending" in ask(browser, "document.getElementById('status').textContent")
    assert len(browser.find_elements(By.CSS_SELECTOR, "[aria-sort]")) == 1


def test_what_is_not_known_comes_last_whichever_way_it_is_sorted(opened, whole):
    gathered = json.loads(json.dumps(whole))
    gathered["picks"][4]["pvalue"] = None
    browser = opened(gathered)
    button = heads(browser)["p-value"]
    for _ in range(2):
        button.click()
        assert ranks(browser)[-1] == 5


def test_searching_narrows_the_table_and_counts(opened, whole):
    browser = opened(whole)
    name = whole["picks"][3]["name"]
    expected = [
        p["rank"]
        for p in whole["picks"]
        if any(name in text for text in (p["name"], *(s["name"] for s in p["stand_ins"])))
    ]
    search = browser.find_element(By.ID, "search")
    search.send_keys(name.upper())
    assert ranks(browser) == expected
    assert f"of {len(whole['picks'])} match" in browser.find_element(By.ID, "count").text
    search.clear()
    search.send_keys("no such variable")
    assert "No pick matches" in browser.find_element(By.CSS_SELECTOR, ".picks tbody").text


def test_searching_also_finds_what_was_not_picked(opened, whole):
    browser = opened(whole)
    others = browser.find_element(By.ID, "others")
    assert others.text == ""
    name = whole["picks"][0]["stand_ins"][0]["name"]
    browser.find_element(By.ID, "search").send_keys(name)
    assert "not picked" in others.text
    assert f"{name} (stand-in for pick 1" in others.text


def test_switching_the_chart_draws_other_numbers(opened, whole):
    browser = opened(whole)
    seen = {tuple(drawn_bars(browser))}
    text = {browser.find_element(By.ID, "measure").text}
    radios = browser.find_elements(By.CSS_SELECTOR, "input[name=measure]")
    assert [r.get_attribute("value") for r in radios] == [
        *("score", "along", "margin", "pvalue", "frequency")
    ]
    for radio in radios[1:]:
        radio.click()
        seen.add(tuple(drawn_bars(browser)))
        text.add(browser.find_element(By.ID, "measure").text)
    assert len(seen) == len(text) == len(radios)


def test_a_click_on_a_bar_opens_the_details_of_the_pick(opened, whole):
    browser = opened(whole)
    bars = browser.find_elements(By.CSS_SELECTOR, "#picks .chart g[aria-label=bar] > *")
    ActionChains(browser).move_to_element(bars[2]).pause(0.2).click().perform()
    details = browser.find_element(By.ID, "details-3")
    assert whole["picks"][2]["stand_ins"][0]["name"] in details.text
    assert focus(browser) == "pick-3"


def test_details_say_what_a_pick_adds_and_what_could_stand_in(opened, whole):
    browser = opened(whole)
    button = browser.find_element(By.ID, "pick-1")
    assert button.get_attribute("aria-expanded") == "false"
    button.click()
    button = browser.find_element(By.ID, "pick-1")
    assert button.get_attribute("aria-expanded") == "true"
    details = browser.find_element(By.ID, button.get_attribute("aria-controls"))
    rows = details.find_elements(By.CSS_SELECTOR, ".simple > tbody > tr")
    assert [row.find_element(By.TAG_NAME, "th").text for row in rows] == [
        s["name"] for s in whole["picks"][0]["stand_ins"]
    ]
    wait = WebDriverWait(browser, 20)
    bars = "#details-1 g[aria-label=bar] > *"
    wait.until(lambda b: len(b.find_elements(By.CSS_SELECTOR, bars)) == 6)


def test_the_keyboard_alone_does_it_all(opened, whole):
    browser = opened(whole)
    keys(browser, Keys.TAB)
    assert focus(browser) == "Skip to the content"
    keys(browser, Keys.ENTER)
    assert focus(browser) == "main"
    ask(browser, "document.querySelector('input[name=measure]').focus()")
    keys(browser, Keys.ARROW_RIGHT)
    assert ask(browser, "document.activeElement.value") == "along"
    assert ask(browser, "document.querySelector('input[name=measure]:checked').value") == "along"
    keys(browser, Keys.TAB)
    assert focus(browser) == "search"
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert ask(browser, outline) == "solid"
    keys(browser, Keys.TAB, Keys.TAB, Keys.TAB, Keys.TAB, Keys.ENTER)  # region, rank, name, score
    assert ranks(browser) == by_score(whole)
    first = f"pick-{by_score(whole)[0]}"
    for _ in range(12):
        keys(browser, Keys.TAB)
        if focus(browser) == first:
            break
    keys(browser, Keys.ENTER)
    assert focus(browser) == first, "the focus stays where it was"
    assert browser.find_elements(By.CSS_SELECTOR, "tr.details")
    keys(browser, " ")
    assert not browser.find_elements(By.CSS_SELECTOR, "tr.details")


def lightness(browser):
    text = ask(browser, "getComputedStyle(document.body).backgroundColor")
    return sum(int(part) for part in text.strip("rgb()").split(", ")) / 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_theme_follows_the_system_until_it_is_switched(opened, whole, scheme):
    browser = opened(whole, scheme=scheme)
    assert (lightness(browser) < 128) == (scheme == "dark")
    for theme in ("dark", "light", "system"):
        browser.find_element(By.CSS_SELECTOR, f"#theme input[value={theme}]").click()
        expected = scheme if theme == "system" else theme
        assert (lightness(browser) < 128) == (expected == "dark")
    paint = "getComputedStyle(document.querySelector('#explained g[aria-label=cell] rect')).fill"
    before = ask(browser, paint)
    other = "light" if scheme == "dark" else "dark"
    browser.find_element(By.CSS_SELECTOR, f"#theme input[value={other}]").click()
    assert ask(browser, paint) != before, "charts change with the theme"


def test_names_from_strangers_are_harmless(opened, strange):
    browser = opened(strange)
    press(browser, "details > summary")
    for rank in range(1, len(strange["picks"]) + 1):
        browser.execute_script(f"document.getElementById('pick-{rank}').click()")
    press(browser, "input[name=measure]")
    assert ask(browser, "window.ran") is None
    assert ask(browser, "document.querySelectorAll('img, main script, iframe').length") == 0
    names = column(browser, 1)
    assert names[0].startswith(NASTY["markup"])
    assert names[1].startswith(NASTY["script"][:15])
    assert "…" in names[2]
    assert len(names[2]) < 100
    assert names[3].startswith(NASTY["right to left"])
    assert names[4].startswith(NASTY["emoji"])
    assert r"\u{202e}gnp.exe" in names[5], "what turns the text around is shown"
    assert r"\u{d800}" in names[7]
    assert ask(browser, "document.documentElement.scrollWidth <= innerWidth"), "the page fits"


def test_a_long_name_is_shown_whole_in_the_details(opened, strange):
    browser = opened(strange)
    browser.find_element(By.ID, "pick-3").click()
    assert browser.find_element(By.CSS_SELECTOR, ".whole-name").text == NASTY["long"]


def test_a_script_that_the_policy_does_not_name_does_not_run(browser, tmp_path, whole):
    from projse.reports.page import page

    html = page(whole).replace("<main", "<script>window.ran = 1</script><main", 1)
    path = tmp_path / "tampered.html"
    path.write_bytes(html.encode())
    browser.get(path.as_uri())
    assert ask(browser, "window.ran") is None
    assert ask(browser, "document.documentElement.dataset.ready") == "yes", "ours do"
    assert any("Content Security Policy" in e["message"] for e in browser.get_log("browser"))


def test_many_picks_of_many_candidates_stay_few_elements(opened, large):
    browser = opened(large)
    count = "document.querySelectorAll('*').length"
    assert len(ranks(browser)) == 50
    assert ask(browser, count) < MOST_NODES
    press(browser, "#picks [aria-label='Next picks']")
    assert ranks(browser) == list(range(51, 101))
    press(browser, ".picks thead button")
    press(browser, "input[name=measure]")
    press(browser, "#explained [aria-label='Next picks']")
    press(browser, "#explained [aria-label='Next outputs']")
    press(browser, "details > summary")
    assert ask(browser, count) < MOST_NODES
    dots = "document.querySelectorAll('#picks .chart g[aria-label=dot] > circle').length"
    press(browser, "input[name=measure][value=score]")
    assert ask(browser, dots) == 200, "all picks are in the chart"


def test_the_printed_page_has_every_pick_and_goes_back_after(opened, large):
    browser = opened(large)
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert len(ranks(browser)) == 200
    browser.execute_script("dispatchEvent(new Event('afterprint'))")
    assert len(ranks(browser)) == 50
    pdf = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"]
    assert len(pdf) > 50_000


@pytest.mark.parametrize("width", [400, 700, 1200])
def test_the_page_fits_its_window(opened, whole, width):
    browser = opened(whole, width=width)
    assert ask(browser, "document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1200])
def test_axe_finds_nothing_serious(opened, whole, scheme, width):
    browser = opened(whole, scheme=scheme, width=width)
    assert axe(browser) == []
    browser.find_element(By.ID, "pick-1").click()
    browser.execute_script("for (const d of document.querySelectorAll('details')) d.open = true")
    assert axe(browser) == []


def test_axe_finds_nothing_serious_in_strange_names(opened, strange):
    browser = opened(strange)
    browser.find_element(By.ID, "pick-3").click()
    assert axe(browser) == []


def test_axe_finds_what_is_serious(opened, whole):
    browser = opened(whole)
    browser.execute_script("document.getElementById('search').labels[0].remove()")
    assert axe(browser), "a check that finds nothing in a broken page checks nothing"


def test_columns_of_variables_are_listed_and_found_by_a_search(opened, whole):
    of_columns = json.loads(json.dumps(whole))
    for pick in of_columns["picks"]:
        pick["columns"], pick["n_columns"] = [f"{pick['name']}=only"], 1
    of_columns["picks"][1].update(columns=[*NASTY.values(), "city=Oslo"], n_columns=100)
    browser = opened(of_columns)
    place = list(heads(browser)).index("Columns")
    listed = column(browser, place)
    assert "city=Oslo" in listed[1]
    assert f"and {100 - len(NASTY) - 1} more" in listed[1]
    assert listed[0] == f"{of_columns['picks'][0]['name']}=only"
    browser.find_element(By.ID, "search").send_keys("city=Oslo")
    assert ranks(browser) == [2]
    assert axe(browser) == []
    assert "Columns" not in heads(opened(whole))
