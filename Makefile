# Two commands do all the set-up on a fresh machine: `make demo` and `make test`.
# Needs Debian's python3 (3.11 or newer), make and pip.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
DECLARED := --config sample_runs/declarations.toml

.PHONY: demo test check wheel clean

# Debian keeps what `venv` needs to bring pip along in a package of its own; without it, pip itself brings it.
$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV) > /dev/null 2>&1 || { $(PYTHON) -m venv --clear --without-pip $(VENV) && \
	  $(PYTHON) -m pip --python $(BIN)/python install --quiet pip; }
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.test-installed: $(VENV)/.installed sample_runs/requirements.txt
	$(BIN)/python -m pip install --quiet --group dev
	-$(BIN)/python -m pip install --quiet --require-hashes --requirement sample_runs/requirements.txt
	touch $@

demo: $(VENV)/.installed  ## lint two runs, write a report, refuse one sign-off and write another
	mkdir -p build
	$(BIN)/k6-audit lint sample_runs/open_healthy --warmup 5s
	$(BIN)/k6-audit lint sample_runs/vu_starved --warmup 16s --exit-zero
	$(BIN)/k6-audit report sample_runs/open_healthy $(DECLARED) -o build/report.html --force
	$(BIN)/k6-audit lint build/report.html --run sample_runs/open_healthy $(DECLARED)
	! $(BIN)/k6-audit signoff sample_runs/vu_starved --warmup 16s $(DECLARED) --by Demo -o build/refused.json
	$(BIN)/k6-audit signoff sample_runs/open_healthy $(DECLARED) --report build/report.html --by Demo -o build/signoff.json --force
	$(BIN)/k6-audit verify build/signoff.json --run sample_runs/open_healthy $(DECLARED) --report build/report.html

test: $(VENV)/.test-installed  ## everything: style, types, architecture, tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n auto --dist loadfile

check: test

wheel: $(VENV)/.test-installed  ## build the wheel and the source distribution into dist/
	$(BIN)/python -m pip install --quiet build
	$(BIN)/python -m build --outdir dist .

clean:
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
