"""Escaped names: only what a place allows, and always the text that was meant."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.files.network_nodes import plain, quoted, word, word_or_integer, xml_text


@given(st.text(max_size=8) | st.from_regex(r"(_0x[0-9A-F_x]{0,4}| ){1,3}", fullmatch=True))
def test_an_escaped_text_has_only_what_its_place_allows_and_comes_back(text):
    assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", word(text))
    assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*|-?[0-9]+", word_or_integer(text))
    assert re.fullmatch(r'"[ !#-\[\]-~]*"', quoted(text))
    assert xml_text(text) == xml_text(text).strip() != ""
    for escaped in (word(text), word_or_integer(text), quoted(text)[1:-1], xml_text(text)):
        assert plain(escaped) == text


@pytest.mark.parametrize("keyword", ["table", "TYPE"])
def test_a_keyword_is_escaped_where_it_is_one(keyword):
    assert word(keyword) == keyword
    assert word(keyword, {"table", "type"}) != keyword == plain(word(keyword, {"table", "type"}))


def test_a_name_that_only_looks_like_an_escape_is_left_alone():
    for name in ("pos_x_0", "img_x1024_y", "addr_0x", "_0xFFFFFF_", "_0xab_", "0x20_"):
        assert plain(name) == name
