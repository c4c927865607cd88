# What a newcomer needs: Python 3.11+ and make. Everything goes into .venv; `make clean` takes it away again.

PYTHON ?= python3
VENV ?= .venv
# make test PYTEST="-k cli": what else to tell pytest
PYTEST ?=
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# make fuzz TIMES=50: how many times as many examples as `make test` tries
TIMES ?= 20

.PHONY: help demo docs test test-all fuzz lint bench clean

help:
	@echo "make demo      a tour of credo, on data that ships with it"
	@echo "make test      tests, the same in every run (minutes)"
	@echo "make test-all  the slow ones too"
	@echo "make fuzz      random tests, many times as many examples, other ones each time"
	@echo "make lint      ruff, and mypy --strict"
	@echo "make docs      the documentation as a site, in build/site"
	@echo "make bench     credo beside its peers (minutes)"
	@echo "make clean     remove $(VENV) and all caches"

demo: $(VENV)/.installed
	@$(BIN)/credo demo

test: $(VENV)/.installed
	$(BIN)/python -m pytest -q -n auto -m "not slow" $(PYTEST)

test-all: $(VENV)/.installed
	$(BIN)/python -m pytest -q -m spark tests/engines
	$(BIN)/python -m pytest -q -n auto -m "not spark" $(PYTEST)

fuzz: $(VENV)/.installed
	CREDO_FUZZ=$(TIMES) $(BIN)/python -m pytest -n auto -m "hypothesis or fuzz" $(PYTEST)

lint: $(VENV)/.installed
	$(BIN)/ruff check
	$(BIN)/mypy

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "build/site/index.html"

$(VENV)/.docs: $(VENV)/.installed
	@$(BIN)/python -m pip install -q -e '.[dev,docs]'
	@touch $@

$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "credo needs Python 3.11 or later; say which one with: make PYTHON=python3.12" >&2; exit 1; }
	@echo "Installing credo and its tools into $(VENV) (once, it takes a minute or two) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -q -e '.[dev]'
	@touch $@

$(VENV)/.bench: $(VENV)/.installed
	@echo "Installing the peers that the benchmarks compare with ..."
	@$(BIN)/python -m pip install -q -e '.[dev,bench]'
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	find . -name .git -prune -o \( -name __pycache__ -o -name '*.egg-info' \) -type d -prune -exec rm -rf {} +
