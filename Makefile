# Two commands do all the set-up on a fresh machine: `make demo` and `make test`.
# Needs Debian's python3 (3.11 or newer), python3-venv, make; pip comes with the virtual environment.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: demo test check wheel clean

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.test-installed: $(VENV)/.installed sample_runs/requirements.txt
	$(BIN)/python -m pip install --quiet --group dev
	-$(BIN)/python -m pip install --quiet --require-hashes --requirement sample_runs/requirements.txt
	touch $@

demo: $(VENV)/.installed  ## lint one run that may be believed, and one that may not
	$(BIN)/k6-audit lint sample_runs/open_healthy --warmup 5s
	$(BIN)/k6-audit lint sample_runs/vu_starved --warmup 16s --exit-zero

test: $(VENV)/.test-installed  ## everything: style, types, architecture, tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n auto

check: test

wheel: $(VENV)/.test-installed  ## build the wheel and the source distribution into dist/
	$(BIN)/python -m pip install --quiet build
	$(BIN)/python -m build --outdir dist .

clean:
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
