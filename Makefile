# CompanyOS from a clone: Python 3.11 or newer, git and make are all it needs. `make` lists what there is.

.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# The first Python on the path that is new enough; PYTHON=/path/to/python3 chooses another.
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11 python3.14 python; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done; true)

VENV := .venv
TOOLS := .venv-tools
BIN := $(VENV)/bin
UV_VERSION := 0.13.8
UV := $(TOOLS)/bin/uv
STAMP := $(VENV)/.synced
RAY := .venv-ray
RAY_STAMP := $(RAY)/.synced
MEMBERS := shared gateway client players integrations/openenv-companyos $(wildcard services/*)

# Certificates and indexes are the machine's: what pip is told by its environment, uv is told too.
export UV_SYSTEM_CERTS ?= true
export UV_PROJECT_ENVIRONMENT := $(CURDIR)/$(VENV)
export UV_PYTHON_DOWNLOADS := never
ifneq ($(PIP_CERT),)
export SSL_CERT_FILE ?= $(PIP_CERT)
endif
ifneq ($(PIP_INDEX_URL),)
export UV_DEFAULT_INDEX ?= $(PIP_INDEX_URL)
endif
unexport VIRTUAL_ENV PYTHONPATH PYTHONHOME

# Training has an environment of its own: PyTorch is heavier than all the rest. Wheels that lie on this machine are
# taken first; elsewhere uv takes PyTorch's build for this machine's GPU, or the small one for CPUs. TORCH_BACKEND=
# (empty) takes whatever the package index has.
TRAIN := .venv-train
TRAIN_STAMP := $(TRAIN)/.synced
TORCH_BACKEND ?= $(if $(PIP_FIND_LINKS),,auto)
FOR_TORCH := $(if $(PIP_FIND_LINKS),--find-links $(PIP_FIND_LINKS)) $(if $(TORCH_BACKEND),--torch-backend $(TORCH_BACKEND))

ARGS ?=

# Once, and not by each of the many processes that a machine starts where Python is told to write no bytecode.
COMPILE := $(BIN)/python -m compileall -q shared/src services gateway/src client/src players/src

# The full size takes hours: what is done of it is kept, and the next run goes on from there, on a fresh clone from
# what was committed of it.
PROOF_DONE := results/proof-full.jsonl.gz
PROOF_LOG := $(if $(filter full,$(PROOF)),runs/proof-full.jsonl)
PROOF_FILES = $(if $(PROOF_LOG),--out results/proof-full.md --worklog $(PROOF_LOG),--out results/proof.md)

# Compiled test modules are kept between runs, also where Python is told to write no bytecode.
PYTEST := env -u PYTHONDONTWRITEBYTECODE $(BIN)/pytest
TEST_ALL := not e2e and not slow and not load and not browser and not ray and not train

# Many tests wait for processes and sockets: one worker more than there are cores, four at most.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(min(4, (os.cpu_count() or 1) + 1))')

.PHONY: help setup demo up test test-all e2e check format bench faults browser load fuzz simulate nightly proof proof-keep clients ray-setup ray harnesses train-setup train-test learn baselines validate space tasks docs compose-up compose-down fresh-clone-check clean damage recorded-episodes

help: ## List the targets
	@echo "CompanyOS. Targets:"
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup: $(STAMP) ## Make .venv with everything in it (the other targets do it by themselves)

demo: $(STAMP) ## Play one vendor onboarding, step by step, and compare three policies
	@$(BIN)/companyos demo $(ARGS)

up: $(STAMP) ## Start the whole enterprise on this machine, no Docker; Ctrl-C stops it (ARGS="--port 8000")
	@$(BIN)/companyos up $(ARGS)

test: $(STAMP) ## Run the tests that start no processes (ARGS="tests/gateway -k reset")
	@$(PYTEST) -n $(WORKERS) --dist loadfile $(ARGS)

test-all: $(STAMP) ## Run every test that needs no Docker: also real processes, and every scenario at every level
	@$(COMPILE)
	@$(PYTEST) -n $(WORKERS) --dist loadfile -m "$(TEST_ALL)" $(ARGS)

e2e: $(STAMP) ## Run the tests over real containers; needs a Docker Engine with Compose
	@TESTCONTAINERS_RYUK_DISABLED=true $(BIN)/pytest -m e2e tests/e2e $(ARGS)

check: $(STAMP) ## Check format, lint, types and who imports whom
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: $(STAMP) ## Format the code and mend what ruff can mend
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

harnesses: $(STAMP) ## Let the harnesses that others train and measure with run, each in an environment of its own (ARGS="--only inspect")
	@$(BIN)/python -m verification.clients.harnesses $(ARGS)

bench: $(STAMP) ## Measure steps, resets, memory and tokens, as ratios to a bare echo
	@$(BIN)/python -m verification.benchmarks $(ARGS)

faults: $(STAMP) ## Kill, starve and cut off real processes, and see what was kept (FAULTS=full for a release)
	@$(BIN)/python -m verification.faults $(ARGS)

ray-setup: $(RAY_STAMP) ## Make .venv-ray with Ray and PyArrow (about 1 GB on disk)

ray: $(RAY_STAMP) ## Play on a Ray cluster of two nodes on this machine, kill one, and time one worker and two (ROLLOUTS=500)
	@RAY_worker_niceness=0 $(RAY)/bin/pytest -n0 -s -m ray tests/cluster $(ARGS)
	@RAY_worker_niceness=0 $(RAY)/bin/python -m verification.benchmarks.cluster

browser: $(STAMP) ## Click through every page in a real Chromium, which has to be on the path (SCREENSHOTS=docs/screenshots)
	@$(UV) sync --frozen --quiet --inexact --group browser --python "$(PYTHON)"
	@$(BIN)/pytest -n0 -m browser tests/browser $(ARGS)

load: $(STAMP) ## Play a thousand episodes at once, abandon ten thousand, ask the four OpenAPIs thousands of times
	@$(BIN)/pytest -n0 -m load tests/promises $(ARGS)

fuzz: $(STAMP) ## Send growing inputs to every route and parser and print the worst time for each kilobyte
	@$(BIN)/pytest -n0 -m "load or not load" tests/complexity $(ARGS)

damage: $(STAMP) ## Flip, cut off and delete files of a data folder a thousand times, and see what a start makes of it (TRIALS=100)
	@$(BIN)/python -m tests.promises.damage --trials $(or $(TRIALS),1000) $(ARGS)

simulate: $(STAMP) ## Play histories of crashes, stalls and restarts on a simulated machine (SEEDS=0-1999, ARGS="--seed 7")
	@$(BIN)/python -m verification.simulation $(if $(findstring --seed,$(ARGS)),,$(or $(SEEDS),0-1999)) $(ARGS)

recorded-episodes: $(STAMP) ## Play 680 episodes and compare what agents observed with results/recorded-episodes.csv (ARGS=--write)
	@$(BIN)/python -m verification.recorded_episodes $(ARGS)

nightly: $(STAMP) ## Move three episodes about five hundred times and compare them with a model (ARGS="--defect NAME"), solve every task
	@$(BIN)/pytest -n0 tests/promises/test_state_machine.py -k model --hypothesis-profile=nightly $(ARGS)
	@$(if $(ARGS),:,$(BIN)/pytest -n $(WORKERS) --dist load -m slow tests/scenarios/test_published_tasks.py)

proof: $(STAMP) $(PROOF_LOG) ## Check every promise and write results/proof.md (PROOF=full for a release, ARGS="--row A")
	@$(BIN)/python -m verification.proof $(if $(ARGS),$(ARGS),$(PROOF_FILES))

runs/proof-full.jsonl:
	@mkdir -p $(@D)
	@if [ -f $(PROOF_DONE) ]; then gzip -dc $(PROOF_DONE) > $@; else : > $@; fi

proof-keep: ## Pack the full proof's work log into results/proof-full.jsonl.gz, to be committed
	@gzip -nc runs/proof-full.jsonl > $(PROOF_DONE)
	@ls -l $(PROOF_DONE)

clients: $(STAMP) ## Let clients that others wrote play, each in an environment of its own (ARGS="--only fastmcp")
	@$(BIN)/python -m verification.clients $(ARGS)

train-setup: $(TRAIN_STAMP) ## Make .venv-train with PyTorch and TRL (about 1 GB on disk)

train-test: $(TRAIN_STAMP) ## Train a tiny model for two steps through a live gateway, and the rest that needs PyTorch
	@$(TRAIN)/bin/pytest -n0 -m train tests/train $(ARGS)

learn: $(TRAIN_STAMP) ## Train a tiny model on the CPU from three seeds and write results/learning.md
	@$(TRAIN)/bin/python -m verification.benchmarks.learning $(ARGS)

baselines: $(STAMP) ## Play the scripted policies on the test split and write results/baselines.md (ARGS="--help")
	@$(BIN)/python -m verification.benchmarks.baselines $(ARGS)

validate: $(STAMP) ## Hold the environment against OpenEnv's validator and our own graders, a line each (ARGS="static url graders")
	@$(BIN)/python -m verification.openenv $(ARGS)

space: $(STAMP) ## Write build/space, the folder for `openenv validate`, `openenv build` and `openenv push`
	@$(BIN)/python -m verification.openenv --package build/space

tasks: $(STAMP) ## Say what the task set holds and look for equal instances (ARGS="--instances 100000" for a release)
	@$(BIN)/python -m companyos_gateway.tasks $(ARGS)

docs: $(STAMP) ## Generate docs/scenarios.md and docs/tools.md from the code
	@$(BIN)/python -m verification.reference docs

compose-up: ## Build the images and start the enterprise in containers; needs a Docker Engine with Compose
	docker compose up --build --wait

compose-down: ## Stop the containers and forget their data
	docker compose --profile sandbox down --volumes

fresh-clone-check: ## Clone the last commit into an empty folder and time both commands there
	@./.ci/fresh-clone-check

clean: ## Remove what the targets above made
	rm -rf $(VENV) $(RAY) $(TOOLS) $(TRAIN) .venv-clients .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis runs .run
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): uv.lock pyproject.toml $(addsuffix /pyproject.toml,$(MEMBERS)) | $(UV)
	@$(UV) sync --frozen --quiet --compile-bytecode --python "$(PYTHON)"
	@$(COMPILE)
	@touch $@

# What the lock says of the training libraries, less the CUDA libraries: they come where the build of PyTorch asks for them.
$(TRAIN_STAMP): uv.lock pyproject.toml $(addsuffix /pyproject.toml,$(MEMBERS)) | $(UV)
	@echo "Setting up $(TRAIN) ..."
	@UV_PROJECT_ENVIRONMENT=$(CURDIR)/$(TRAIN) $(UV) sync --frozen --quiet --inexact --python "$(PYTHON)"
	@$(UV) export --frozen --quiet --no-hashes --package companyos --extra trl --no-emit-workspace \
		| sed -E '/^(nvidia|cuda|triton)/d' > $(TRAIN)/requirements.txt
	@$(UV) pip install --quiet --python $(TRAIN)/bin/python $(FOR_TORCH) -r $(TRAIN)/requirements.txt
	@touch $@

$(RAY_STAMP): uv.lock pyproject.toml $(addsuffix /pyproject.toml,$(MEMBERS)) | $(UV)
	@echo "Setting up $(RAY) ..."
	@UV_PROJECT_ENVIRONMENT=$(CURDIR)/$(RAY) $(UV) sync --frozen --quiet --inexact --python "$(PYTHON)"
	@$(UV) export --frozen --quiet --no-hashes --package companyos --extra ray --no-emit-workspace \
		| $(UV) pip install --quiet --python $(RAY)/bin/python -r -
	@touch $@

$(UV):
	@test -n "$(PYTHON)" || { echo "CompanyOS needs Python 3.11 or newer, and there is none on the path." \
		"Set PYTHON=/path/to/python3." >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "CompanyOS needs Python 3.11" \
		"or newer; $(PYTHON) is $$("$(PYTHON)" -V 2>&1)." >&2; exit 1; }
	@echo "Setting up $(VENV) ..."
	@"$(PYTHON)" -m venv $(TOOLS)
	@$(TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
