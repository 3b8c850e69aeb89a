"""A headless Chromium for the tests of the page; without one they are skipped, or fail where CI asks for them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--force-device-scale-factor=1",
    "--window-size=1300,900",
)


class Page:
    """A page open in the browser."""

    def __init__(self, driver) -> None:
        self.driver = driver

    def open(self, path: Path, fragment: str = "") -> Page:
        """Load a file, afresh, and wait until it has drawn itself."""
        self.driver.get("about:blank")
        self.driver.get(path.as_uri() + fragment)
        self.wait("return document.documentElement.dataset.ready")
        return self

    def run(self, script: str, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait(self, script: str, seconds: float = 60.0):
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.driver, seconds, poll_frequency=0.02).until(lambda driver: self.run(script))

    def text(self, selector: str) -> str:
        return self.run("return document.querySelector(arguments[0]).innerText", selector)

    def texts(self, selector: str) -> list[str]:
        return self.run("return [...document.querySelectorAll(arguments[0])].map((each) => each.textContent)", selector)

    def count(self, selector: str) -> int:
        return self.run("return document.querySelectorAll(arguments[0]).length", selector)

    def element(self, selector: str):
        return self.driver.find_element("css selector", selector)

    def probabilities(self) -> list[float]:
        """The class probabilities that are shown, to the last digit."""
        return self.run(
            "return [...document.querySelectorAll('#classes .figure')].map((figure) => Number(figure.title))"
        )

    def posterior(self, patterns: list[list[int]]) -> list[list[float]]:
        """The class probabilities that the page computes for evidence in codes."""
        return self.run("return arguments[0].map((codes) => window.tanagerReport.posterior(codes))", patterns)

    def load_row(self, number: int) -> None:
        self.run(
            "const n = document.getElementById('row-number'); n.value = arguments[0];"
            "n.dispatchEvent(new Event('change'))",
            number,
        )

    def violations(self, axe: str) -> list[tuple[str, list[str]]]:
        """The rules of accessibility that the page breaks, and where."""
        self.run(axe)
        found = self.driver.execute_async_script("axe.run().then(arguments[0])")
        return [(each["id"], [node["target"] for node in each["nodes"]]) for each in found["violations"]]

    def size(self, width: int, height: int = 900) -> None:
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )

    def prefer(self, scheme: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def give_up(reason: str) -> NoReturn:
    """Leave a test of the page out, or let it fail where CI asks for it."""
    if os.environ.get("TANAGER_BROWSER_TESTS") == "required":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def axe(tmp_path_factory) -> str:
    """The source of axe-core, which checks accessibility, fetched by npm for this run alone."""
    npm = shutil.which("npm")
    if npm is None:
        give_up("accessibility is checked with axe-core, which npm fetches: install npm.")
    folder = tmp_path_factory.mktemp("axe")
    command = [npm, "pack", "axe-core@4", "--json", "--fetch-retries=2", "--fetch-timeout=20000"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=True)
        archive = json.loads(done.stdout)[0]["filename"]
        subprocess.run(["tar", "xzf", archive], cwd=folder, check=True)
    except (subprocess.SubprocessError, OSError, ValueError) as error:
        give_up(f"accessibility is checked with axe-core, which npm could not fetch: {error}.")
    return (folder / "package" / "axe.min.js").read_text("utf-8")


@pytest.fixture(scope="session")
def driver(tmp_path_factory) -> Iterator[object]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    chromedriver = shutil.which("chromedriver")
    if chromium is None or chromedriver is None:
        give_up("the page is tested in Chromium: install the packages chromium and chromium-driver.")
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    options = ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = Chrome(options=options, service=Service(chromedriver))
    driver.set_script_timeout(180)  # a loaded machine is slow
    driver.set_page_load_timeout(180)
    yield driver
    driver.quit()


@pytest.fixture
def page(driver) -> Iterator[Page]:
    """A page of the usual size and the light scheme; whatever a test does with it, the console stays empty."""
    opened = Page(driver)
    opened.size(1300)
    opened.prefer("light")
    yield opened
    assert [entry["message"] for entry in driver.get_log("browser")] == []
