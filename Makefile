# Two commands for newcomers: `make demo` and `make test`. Both make their own virtual environment.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test lint format bench experiments docs clean

demo: $(VENV)/.installed  ## learn a classifier on a real table, print the comparison, write model and predictions
	$(BIN)/tanager demo -o demo

test: lint  ## everything: style, types, layers, tests, doctests
	$(BIN)/pytest -n auto -q

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.test  ## speed against peers in one run, written to benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks.run

$(VENV)/.installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade "pip>=25.1"
	$(BIN)/python -m pip install -q -e .
	touch $@

$(VENV)/.test: $(VENV)/.installed
	$(BIN)/python -m pip install -q -e . --group test
	touch $@

clean:
	rm -rf $(VENV) build dist demo .mypy_cache .ruff_cache .pytest_cache
