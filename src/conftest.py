"""Doctests of files that need an optional library are collected only where it is installed."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["tanager/torch/*"]
