"""Take the picture of the report page: `make pictures`, or from the project's root `python docs/screenshot_report.py`.

Runs `tanager demo` in a temporary folder, opens the page it wrote in a headless Chromium, asks it a what-if question
and photographs it, light and dark. Needs chromium and chromedriver on the path, and selenium (the group `test`).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

IMAGES = Path(__file__).parent / "images"
WIDTH, HEIGHT = 1280, 880
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars")
MAX_BYTES = 300_000
# Row 297 of the demo's table: one that the classifier is not sure of.
LOAD_ROW = """
    const field = document.querySelector("#rows input");
    field.value = 297;
    field.dispatchEvent(new Event("change", {bubbles: true}));
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "tanager", "demo", "-o", folder], check=True, stdout=subprocess.DEVNULL)
        driver = start_browser()
        try:
            for scheme in ("light", "dark"):
                photograph(driver, Path(folder, "report.html"), scheme)
        finally:
            driver.quit()


def start_browser() -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    for flag in FLAGS:
        options.add_argument(flag)
    options.binary_location = shutil.which("chromium") or ""
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


def photograph(driver: webdriver.Chrome, page: Path, scheme: str) -> None:
    size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    feature = {"name": "prefers-color-scheme", "value": scheme}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    driver.get("about:blank")
    driver.get(page.as_uri())
    WebDriverWait(driver, 20).until(lambda d: d.execute_script("return document.documentElement.dataset.ready"))
    driver.execute_script(LOAD_ROW)
    target = IMAGES / f"report-{scheme}.png"
    driver.save_screenshot(str(target))
    if target.stat().st_size > MAX_BYTES:
        raise SystemExit(f"{target} has {target.stat().st_size:,} bytes, more than {MAX_BYTES:,}.")
    print(target)


if __name__ == "__main__":
    main()
