# make crawl    sets everything up and crawls: the simulated web, or what SEEDS names
# make test     sets everything up and runs all checks and tests
# The rest is for who works on the code; `make help` lists it.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules --no-print-directory

VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
export PIP_REQUIRE_VIRTUALENV := 1

FITS := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))
ifndef PYTHON
PYTHON := $(shell for p in python3.11 python3.12 python3.13 python3; do \
	if $$p -c '$(FITS)' 2>/dev/null; then echo $$p; break; fi; done)
endif

# An environment can be neither moved nor given another Python: its stamp is named by both.
HOME_OF_VENV := $(firstword $(shell { $(or $(PYTHON),false) -c 'import sys; print(sys.version_info[:2])'; pwd; } | cksum))
MADE := $(VENV)/made-$(HOME_OF_VENV)
RUNS := $(VENV)/ready-to-run
TESTS := $(VENV)/ready-to-test
BENCHES := $(VENV)/ready-to-bench
INSTALL = $(BIN)/python -m pip install --quiet --constraint constraints.txt
COMPILED = $(subst /,.,$(basename $(shell grep -rl --include='*.py' '^ *IS_COMPILED = ' crawler frontier visited)))
BUILT_FROM := pyproject.toml setup.py constraints.txt $(shell find crawler frontier visited -name '*.[ch]')

# What SEEDS may name is anything but white space, so it passes the shell in quotes.
SEED_OPTIONS = $(foreach seed,$(value SEEDS),--seed '$(subst ','\'',$(seed))')
CRAWL_DIR := $(or $(DIR),crawls/seeds)
AGENT_OPTION = $(if $(CONTACT),--set 'fetch.user_agent=onceover/0.1 (+$(subst ','\'',$(value CONTACT)))')

.PHONY: help crawl test coverage test-long bench check lint types contracts docs format clean debian

help:
	@echo 'make crawl                               crawl the simulated web on loopback; again: resume it'
	@echo 'make crawl SEEDS="https://example.org/"  crawl these sites, politely, into crawls/seeds (or DIR=...)'
	@echo '                                         CONTACT="https://your.site/bot" tells them who asks'
	@echo 'make test                                all checks and tests'
	@echo 'make coverage                            all tests, and which lines and branches none of them runs'
	@echo 'make test-long                           storms, fuzz and soaks: minutes to hours'
	@echo 'make bench                               every benchmark, in its quick form'
	@echo 'make check                               format, lint, types, contracts, docs'
	@echo 'make docs                                the pages as HTML, in build/docs'
	@echo 'make format                              put the code in form'
	@echo 'make clean                               remove what was built; crawls are kept'
	@echo 'PYTHON=python3.12 chooses the interpreter (3.11 to 3.13); ARGS="--max-pages 100" passes options on.'

# A crawl that a limit (3) or Ctrl-C (4) stops has said how to go on, and is no error.
IF_ORDERLY = || case $$? in 3|4) ;; *) exit $$?;; esac

crawl: $(RUNS)
ifdef SEEDS
	@$(BIN)/onceover crawl $(SEED_OPTIONS) --dir '$(CRAWL_DIR)' $(AGENT_OPTION) $(ARGS) $(IF_ORDERLY)
else
	@$(BIN)/onceover demo $(ARGS) $(IF_ORDERLY)
endif

# --- Set-up ----------------------------------------------------------------------------------------------------------

$(MADE):
ifeq ($(PYTHON),)
	@echo 'Python 3.11, 3.12 or 3.13 is needed, and none was found in $(PATH).' >&2
	@echo 'On Debian 12: apt-get install python3 python3-venv. Or name one: make PYTHON=/path/to/python3.12' >&2
	@false
endif
	@$(PYTHON) -c '$(FITS)' || { echo 'Python 3.11 to 3.13 is needed; $(PYTHON) is' \
		"$$($(PYTHON) --version 2>&1)." >&2; false; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || tools/debian-packages --required \
		"$$($(PYTHON) -c 'import sys; v = "python%d.%d" % sys.version_info[:2]; \
		print(f"{v}-venv={sys.prefix}/lib/{v}/ensurepip")')"
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(RUNS): $(MADE) $(BUILT_FROM)
	@# plyvel has no wheel for 3.13.
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info >= (3, 13))' || $(BIN)/python -c 'import plyvel' 2>/dev/null \
		|| tools/debian-packages --required libleveldb-dev=/usr/include/leveldb/db.h g++=/usr/bin/g++ \
		"$$($(BIN)/python -c 'import sys, sysconfig; \
		print("python%d.%d-dev=" % sys.version_info[:2] + sysconfig.get_path("include") + "/Python.h")')"
	$(INSTALL) --upgrade pip
	@# The snappy in plyvel's wheel is compiled without optimization: compaction takes twice as long with it.
	@[ ! -e /usr/include/leveldb/db.h ] || ! command -v g++ >/dev/null || [ ! -e "$$($(BIN)/python -c \
		'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" ] || { PYTHONWARNINGS=ignore $(INSTALL) \
		--build-constraint constraints.txt --no-binary plyvel plyvel && $(BIN)/python -c 'import plyvel'; } || { \
		$(BIN)/python -m pip uninstall --quiet --yes plyvel; \
		echo 'plyvel could not be built against libleveldb-dev; its wheel is taken, which is slower.' >&2; }
	PYTHONWARNINGS=ignore $(INSTALL) --build-constraint constraints.txt --editable .
	@[ ! -e visited/bits/_kernel.c ] || $(BIN)/python -c 'import sys; from importlib import import_module as load; \
		sys.exit(not all(load(name).IS_COMPILED for name in sys.argv[1:]))' $(COMPILED) 2>/dev/null || \
		echo 'Built without its C code, which needs a compiler and Python.h: everything works, only slower.' >&2
	@# With PYTHONDONTWRITEBYTECODE, each command would compile its modules anew, which doubles its start.
	@$(BIN)/python -m compileall -q config crawler frontier visited onceover_crawler.py
	@touch $@

$(TESTS): $(RUNS)
	$(INSTALL) --group test --group check
	@touch $@

$(BENCHES): $(TESTS)
	$(INSTALL) --group bench
	@touch $@

debian:
	@tools/debian-packages nginx=/usr/sbin/nginx redis-server=/usr/bin/redis-server postgresql=/usr/lib/postgresql chromium=/usr/bin/chromium jq=/usr/bin/jq \
		libleveldb-dev=/usr/include/leveldb/db.h g++=/usr/bin/g++ linkchecker=/usr/bin/linkchecker \
		python3-doc=/usr/share/doc/python3-doc/html/index.html apache2-doc=/usr/share/doc/apache2-doc/manual/en/index.html

# --- Proof -----------------------------------------------------------------------------------------------------------

# With it, each worker of each run would compile all tests anew.
test coverage: export PYTHONDONTWRITEBYTECODE :=

test: debian $(TESTS)
	@# Each of the checks keeps one core busy.
	@$(MAKE) -j 2 --output-sync check
	$(BIN)/python -m pytest -n 4 --dist worksteal $(ARGS)

coverage: debian $(TESTS)
	$(BIN)/python -m pytest -n 3 --dist worksteal --cov $(ARGS)

test-long: debian $(TESTS)
	$(BIN)/python -m pytest -m long --hypothesis-profile=long --timeout=0 $(ARGS)

check: lint types contracts docs

lint: $(TESTS)
	$(BIN)/ruff format --check --quiet
	$(BIN)/ruff check --quiet

types: $(TESTS)
	$(BIN)/mypy

contracts: $(TESTS)
	$(BIN)/lint-imports --no-cache

docs: $(TESTS)
	$(BIN)/python tools/draw_rooms.py --check
	@# Read anew each time: Sphinx does not repeat the warnings of pages that it keeps.
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going --fresh-env --conf-dir docs . build/docs

format: $(TESTS)
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

bench: debian $(BENCHES)
	@tools/debian-packages wget2=/usr/bin/wget2
	@for file in $$(grep -l __main__ tests/bench/*.py); do \
		name=$$(basename "$$file" .py); echo "== $$name"; \
		$(BIN)/python -m "tests.bench.$$name" --quick $(ARGS); done

clean:
	rm -rf $(VENV) build dist *.egg-info examples/*/build examples/*/*.egg-info \
		htmlcov .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis \
		.import_linter_cache
	find crawler frontier visited -name '*.so' -delete
	rm -rf __pycache__ docs/__pycache__
	find config crawler examples frontier tests tools visited -name __pycache__ -prune -exec rm -rf {} +
