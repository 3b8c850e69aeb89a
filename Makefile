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

experiments: $(VENV)/.test  ## accuracy on the benchmark sets, written to experiments/RESULTS.md
	$(BIN)/python experiments/run.py

# Peers live in an environment of their own: they are never dependencies, and want other versions of NumPy.
BENCH := $(VENV)-bench
PEERS := orange3 fimdlp pyagrum pgmpy pandas polars
WEKA_JAR := $(BENCH)/weka.jar

bench: $(BENCH)/.installed  ## speed against peers in one run, written to benchmarks/RESULTS.md
	WEKA_JAR=$(WEKA_JAR) $(BENCH)/bin/python -m benchmarks.run

$(BENCH)/.installed: pyproject.toml
	test -x $(BENCH)/bin/python || $(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install -q --upgrade "pip>=25.1"
	$(BENCH)/bin/python -m pip install -q -e . $(PEERS)
	$(BENCH)/bin/python -m pip download -q --no-deps -d $(BENCH)/weka python-weka-wrapper3
	tar xzf $(BENCH)/weka/*.tar.gz -C $(BENCH)/weka
	find $(BENCH)/weka -name weka.jar -exec cp {} $(WEKA_JAR) \;
	touch $@

docs: $(VENV)/.docs  ## the documentation, in docs/_build/html; a warning is an error
	rm -rf docs/generated
	$(BIN)/sphinx-build -W -q -b html docs docs/_build/html

$(VENV)/.installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade "pip>=25.1"
	$(BIN)/python -m pip install -q -e .
	touch $@

$(VENV)/.test: $(VENV)/.installed
	$(BIN)/python -m pip install -q -e . --group test
	touch $@

$(VENV)/.docs: $(VENV)/.installed
	$(BIN)/python -m pip install -q -e . --group docs
	touch $@

clean:
	rm -rf $(VENV) build dist demo .mypy_cache .ruff_cache .pytest_cache
