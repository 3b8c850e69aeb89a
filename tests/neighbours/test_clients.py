"""The table of clients has a row for every script of clients/, written by `make clients`, and each of them works."""

from __future__ import annotations

from clients.run import PAGE, ROW, packages, scripts


def test_every_client_has_a_row_that_says_it_works():
    rows = {match[1]: match[0] for match in ROW.finditer(PAGE.read_text())}
    assert rows.keys() == scripts().keys()
    assert all("| yes |" in row for row in rows.values())


def test_every_client_names_its_packages():
    assert all(packages(script) for script in scripts().values())
