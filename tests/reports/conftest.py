"""A real browser, and reports to open in it."""

from __future__ import annotations

import json
import shutil
import warnings

import numpy as np
import pytest
from strange_names import NASTY

from projse import ProjSe, ProjSeCV, StabilityProjSe
from projse.reports.gather import gather
from projse.reports.page import page

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
DRIVER = shutil.which("chromedriver")


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Start Chromium without a window; its log and its requests are recorded."""
    if not CHROMIUM or not DRIVER:
        pytest.skip("needs Chromium and its driver (Debian: chromium chromium-driver)")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (
        "headless=new",
        "no-sandbox",
        "disable-gpu",
        "disable-quic",
        "no-first-run",
        "disable-background-networking",
        "disable-component-update",
        "disable-sync",
        "disable-dev-shm-usage",
        "window-size=1200,900",
        f"user-data-dir={tmp_path_factory.mktemp('chromium')}",
    ):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture
def opened(browser, tmp_path):
    """Open what was gathered, from disk; fail at the end on errors and requests."""
    from selenium.webdriver.support.wait import WebDriverWait

    def open_page(gathered, *, width=1200, scheme="light"):
        path = tmp_path / "report.html"
        path.write_bytes(page(gathered).encode())
        media = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
        features = [{"name": name, "value": value} for name, value in media.items()]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.get("about:blank")
        logged(browser)
        browser.get(path.as_uri())
        wait = WebDriverWait(browser, 60)
        wait.until(lambda b: b.execute_script("return document.documentElement.dataset.ready"))
        undrawn = (
            "return [...document.querySelectorAll('.chart')].filter(c => !c.firstChild).length"
        )
        wait.until(lambda b: b.execute_script(undrawn) == 0)
        return browser

    yield open_page
    complaints, addresses = logged(browser)
    assert complaints == []
    assert [a for a in addresses if not a.startswith(("file:", "about:"))] == []


def logged(browser):
    """Return and forget what the console said, and what was asked for by address."""
    console = [entry["message"] for entry in browser.get_log("browser")]
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [e["params"]["request"]["url"] for e in events if e["method"].endswith("WillBeSent")]
    return console, sent


@pytest.fixture(scope="session")
def whole():
    """Gather a report with every section; fits are quiet about what the checks are to find."""
    rng = np.random.default_rng(7)
    Z = rng.normal(size=(150, 5))
    X = Z @ rng.normal(size=(5, 30)) + rng.normal(size=(150, 30))
    Y = Z @ rng.normal(size=(5, 6)) + rng.normal(size=(150, 6))
    X[:, 29] = X[:, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        selector = ProjSe(12).fit(X, Y)
        cv = ProjSeCV(n_features=8, cv=3).fit(X, Y)
        stable = StabilityProjSe(ProjSe(12), n_resamples=20, random_state=0).fit(X, Y)
        command = "projse select data.csv --targets 'y_*' --report out.html"
        notes = ("A warning of the fit.",)
        return gather(selector, cv=cv, stability=stable, command=command, notes=notes)


@pytest.fixture(scope="session")
def strange(whole):
    """Gather the same with names from strangers, everywhere that a name may stand."""
    names = list(NASTY.values())
    strange = json.loads(json.dumps(whole))
    for i, pick in enumerate(strange["picks"]):
        pick["name"] = names[i % len(names)]
        for stand_in in pick["stand_ins"]:
            stand_in["name"] = names[(i + 1) % len(names)]
    outputs = strange["explained"]["outputs"]
    strange["explained"]["outputs"] = [names[j % len(names)] for j in range(len(outputs))]
    for i, item in enumerate(strange["stability"]["frequencies"]):
        item["name"] = names[i % len(names)]
    strange["not_picked"] = names
    for check in strange["checks"]:
        check["names"], check["n_names"] = names, 100
    strange["notes"] = names
    strange["repeat"]["command"] = strange["repeat"]["python"] = "\n".join(names)
    strange["repeat"]["parameters"][0]["value"] = names[0]
    strange["cv"]["chosen"] = strange["cv"]["curves"][0]["params"] = names[1]
    return strange


@pytest.fixture(scope="session")
def large():
    """Gather 200 picks of 5000 candidates for 300 outputs."""
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(400, 5000)), rng.normal(size=(400, 300))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gathered = gather(ProjSe(200).fit(X, Y))
    assert len(gathered["picks"]) == 200
    return gathered
