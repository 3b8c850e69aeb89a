"""Take the pictures of the report page: `make pictures`, or from the project's root `python docs/screenshot_report.py`.

Runs `tanager demo` in a temporary folder, opens the page it wrote in a headless Chromium and photographs it: as it
opens, light and dark; on a phone; as it is printed; and with a row loaded into what-if. Needs chromium and chromedriver
on the path, and selenium (the group `test`).
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
DESK, PHONE, PAPER = (1280, 960), (390, 844), (794, 1123)
"""Pixels: of a window, of a phone, and of a sheet of A4 at 96 to the inch."""
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars")
MAX_BYTES = 300_000
# Row 299 of the demo's table: the most confident error of cross-validation.
LOAD_ROW = """
    const field = document.querySelector("#row-number");
    field.value = 299;
    field.dispatchEvent(new Event("change", {bubbles: true}));
    document.querySelector("#what-if").scrollIntoView();
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "tanager", "demo", "-o", folder], check=True, stdout=subprocess.DEVNULL)
        page = Path(folder, "report.html")
        driver = start_browser()
        try:
            for scheme in ("light", "dark"):
                open_page(driver, page, DESK, scheme)
                save(driver, f"report-{scheme}")
                driver.execute_script(LOAD_ROW)
                save(driver, f"report-what-if-{scheme}")
            open_page(driver, page, PHONE, "light")
            save(driver, "report-phone")
            open_page(driver, page, PAPER, "light", media="print")
            # The margins of the sheet, which are not the page's own.
            driver.execute_script("dispatchEvent(new Event('beforeprint')); document.body.style.padding = '45px'")
            save(driver, "report-print")
        finally:
            driver.quit()


def start_browser() -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    for flag in FLAGS:
        options.add_argument(flag)
    options.binary_location = shutil.which("chromium") or ""
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


def open_page(driver: webdriver.Chrome, page: Path, size: tuple[int, int], scheme: str, media: str = "screen") -> None:
    metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size == PHONE}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    feature = {"name": "prefers-color-scheme", "value": scheme}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": [feature]})
    driver.get("about:blank")
    driver.get(page.as_uri())
    WebDriverWait(driver, 20).until(lambda d: d.execute_script("return document.documentElement.dataset.ready"))


def save(driver: webdriver.Chrome, name: str) -> None:
    target = IMAGES / f"{name}.png"
    driver.save_screenshot(str(target))
    if target.stat().st_size > MAX_BYTES:
        raise SystemExit(f"{target} has {target.stat().st_size:,} bytes, more than {MAX_BYTES:,}.")
    print(target)


if __name__ == "__main__":
    main()
