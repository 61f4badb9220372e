# `make demo` and `make test` need nothing but Python 3.11-3.14 and make; `make docs`, `make lint` and `make bench` likewise.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: demo test test-long fuzz docs lint bench clean

demo: $(VENV)/.installed
	$(BIN)/kempe demo --folder demo

# One process for each core, and so one thread of linear algebra for each process.
test: $(VENV)/.installed-test
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto

# The whole suite under two libraries of linear algebra, with the long forms of tests that have them.
test-long: $(VENV)/.installed-test
	for kernel in Haswell Prescott; do \
	    OPENBLAS_CORETYPE=$$kernel OPENBLAS_NUM_THREADS=1 KEMPE_LONG=1 $(BIN)/python -m pytest -n auto || exit 1; \
	done

# Odd calls, mutated files, faults of processes, and what must not depend on how a mechanism is described, each with new
# numbers for MINUTES: `make fuzz MINUTES=10`, `make fuzz PARTS=faults.files`.
PARTS   ?= faults.calls faults.files faults.processes invariance.fuzz
MINUTES ?= 60
fuzz: $(VENV)/.installed-test
	failed=0; for part in $(PARTS); do $(BIN)/python -m tests.$$part --minutes $(MINUTES) || failed=1; done; exit $$failed

# Every warning is an error. Look at it with `python -m http.server --directory site`.
docs: $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/pyright --pythonpath $(BIN)/python

# Kempe beside others, in an environment of its own (.bench).
bench: $(VENV)/.installed
	$(BIN)/kempe bench

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14) and "Kempe needs Python 3.11 to 3.14: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)

# One stamp per set of packages, so that a second run installs nothing.
# The integrators are compiled once on a machine: that is part of setting up.
$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	$(BIN)/kempe prepare
	touch $@

$(VENV)/.installed-%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[$*]'
	touch $@

clean:
	rm -rf $(VENV) .bench demo site build dist .pytest_cache .ruff_cache .hypothesis
