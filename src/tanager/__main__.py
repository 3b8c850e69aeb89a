"""`python -m tanager`: the command."""

from __future__ import annotations

from tanager.cli.main import main

if __name__ == "__main__":
    main()
