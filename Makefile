# SPDX-License-Identifier: Apache-2.0
# Every target sets up what it needs by itself: `make sim` works in a fresh checkout.

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

# All paths are relative to the checkout: its name may hold what make and the shell would split or expand.
ifeq ($(filter Makefile ./Makefile,$(lastword $(MAKEFILE_LIST))),)
$(error run make in the folder of this Makefile, or with -C FOLDER)
endif

# The interpreter's variables (PYTHONPATH, PYTHONHOME, PYTHONOPTIMIZE ...) belong to other tools of the user; Python
# inside a simulator reads them, too. PYTHON itself is ours.
unexport LIBPYTHON_LOC $(filter-out PYTHON,$(filter PYTHON%,$(.VARIABLES)))

# exec: a signal that make passes on reaches the tool, not a shell around it; make waits for what it has started.
TOOL = exec env PATH="$$(pwd)/scripts/bin:$$PATH"
RUN = $(TOOL) .venv/bin/python -m tb.runner
PYTEST = exec .venv/bin/python -m pytest
LONG = $(if $(filter 0,$(COMPILED)),,CARILLON_COMPILED=1)
# The shell takes them from the environment, where make puts them: no quote in a value is read by the shell. Pytest
# and the runner check them and name what is wrong.
SELECT = --test "$$TEST" --seed "$$SEED" --sim "$$SIM" --build "$$BUILD"
SIMULATE = --seeds "$$SEEDS" --cpu-limit "$$TIMEOUT" --waves "$$WAVES"
LAST = $(if $(FAILED),--lf --lfnf=none)
PARALLEL = --jobs "$$JOBS" --cluster "$$CLUSTER" --cluster-wait "$$CLUSTER_WAIT"
WORKERS = $(if $(JOBS)$(CLUSTER),$(PARALLEL),-n auto)

.PHONY: help setup setup-sim setup-long sim tours test negatives formal mutate coverage soak faults tiers bench synth \
	report lint house waves record replay bench-tb compiled model list defs figures walk docs clean distclean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile
	@echo
	@awk '/^#= / { sub(/^#= /, "  "); print }' Makefile

#= TEST=name      test, module or module.test; several with commas; * is a wildcard
#= SEED=n         one seed;  SEEDS=20 is 1 to 20, SEEDS=3,8,20-25 a list (make synth: SEEDS=3 is seed 3, SEEDS=1,2,3 a
#=                list; no ranges)
#= FULL=1         the full tier, each test at least once (make sim);  FAILED=1 what failed last (make sim, make test)
#= SIM=icarus     the other simulator (default: verilator, and what tests declare for icarus)
#= BUILD=name     only this build of tb/builds.yaml
#= AGAIN=1        judge what the last runs left, without simulating (make coverage)
#= PROOF=name     only these proofs (make formal);  QUICK=1 those of make test;  PLANTED=1 with their faults
#= JOBS=n         parallel workers (default: all cores);  CLUSTER='srun -n1 -c1' starts them through a batch system,
#=                which has CLUSTER_WAIT=s seconds to start them all (120)
#= TIMEOUT=s      limit of one simulation, in seconds of processor time
#= CQ=n           look at this one (make waves); so do QP=n, SRQ=n, WINDOW=n
#= WAVES=0        no rerun of the first failing simulation with waves;  WAVES=1 one of a single simulation, too
#= MODULE=name    only these modules (make synth);  QUICK=1 three of them against their bounds;  PRICES=1 what features
#=                and sizes cost, without a clock;  SET=NUM_QP=16,QP_W=4 other parameters of MODULE
#= COUNT=n        mutants (make mutate; 1000); SEED=n chooses them, MODULE=glob their modules,
#=                PROVE=s limits the proofs of one mutant, in seconds of processor time (60)
#= FAULT=name     only these faults (make negatives, make faults)
#= N=n            completions to judge (make soak; default 10000000); SEED=n repeats or resumes a campaign
#= COMPILED=0    import the Python files of the model and the checks, although they are compiled
#= FILE=path      file of records (make replay; make record writes it, default: sim_build/records/...)
#= PYTHON=path    interpreter of .venv, 3.11 or newer; another one than it has makes it anew

setup: ## install all tools into .venv (and Debian packages, as root); each target does what it needs
	@scripts/setup.sh all

setup-sim:
	@scripts/setup.sh sim

# What runs for long imports the model and the checks as machine code; without Python.h it runs as it is. A mistake in
# the NUMBERS of a target is told before that.
setup-long: setup
	@$(if $(filter 0,$(COMPILED)),:,.venv/bin/python -m scripts.compile_checks --try $(NUMBERS))

soak: NUMBERS = N SEED JOBS
bench-tb: NUMBERS = SEED:1000

compiled: setup ## translate the model and the checks into machine code (mypyc), for simulations, soak and replay
	@.venv/bin/python -m scripts.compile_checks

sim: $(if $(FULL),setup-long,setup-sim) ## simulate the quick tier; FULL=1, FAILED=1 (TEST, SEED, SEEDS, SIM, BUILD ...)
	@$(PYTEST) tb/tests $(SELECT) $(SIMULATE) $(WORKERS) $(or $(LAST),--tier $(if $(FULL),full,quick))

tours: setup-sim ## drive every transition of the models' graphs into the RTL; table (JOBS)
	@$(PYTEST) tb/tests --test 'test_tour_*' $(WORKERS)

test: setup ## run everything: Python tests, lint, quick proofs, simulations, traceability, some planted faults
	@$(PYTEST) $(SELECT) $(SIMULATE) $(WORKERS) $(LAST)

negatives: setup-sim ## show that tests fail on a broken design: faults of tb/faults/*.yaml (FAULT, JOBS)
	@$(PYTEST) tb/faults --only "$$FAULT" $(WORKERS)

coverage: setup ## measure code coverage of hdl/ by the regression; fails below 100 % (TEST, JOBS, AGAIN)
	@$(if $(AGAIN),$(RUN) coverage --test "$$TEST",\
	    $(PYTEST) tb/tests --code-coverage --waves 0 -m '$(if $(TEST),,full or quick)' --test "$$TEST" $(WORKERS))

formal: setup ## prove properties of the design: formal/*/proofs.yaml (PROOF, PLANTED, QUICK, JOBS)
	@$(PYTEST) formal -m '$(if $(PLANTED),nightly,$(if $(QUICK),quick,full))' --only "$$PROOF" $(WORKERS)

mutate: setup ## run the tests on mutants of the design (COUNT, SEED, MODULE, JOBS, PROVE)
	@$(RUN) mutate --count "$$COUNT" --seed "$$SEED" --module "$$MODULE" --prove-seconds "$$PROVE" $(PARALLEL)

soak: setup-long ## random traffic of everything for long; Ctrl-C stops, SEED resumes (N, SEED, JOBS)
	@$(RUN) soak --completions "$$N" --seed "$$SEED" $(PARALLEL)

faults: setup-sim ## run the campaign of external faults: table and sim_build/faults.json (FAULT, JOBS)
	@$(PYTEST) tb/tests/campaigns/faults.yaml --only "$$FAULT" $(WORKERS)

model: setup ## run the reference model's tests only
	@$(PYTEST) models/tests $(WORKERS)

lint: setup ## run the static checks: Verilator, Icarus, Yosys, ruff, mypy
	@$(PYTEST) pyproject.toml hdl/lint_configs.yaml $(WORKERS)

tiers: setup ## choose the tiers of tb/tiers.yaml from what the last `make coverage` recorded
	@$(RUN) tiers

house: setup-sim ## lines of each part against its target; circular imports, long files, tests in no subject or too deep
	@.venv/bin/python -m scripts.house

bench: setup-sim ## measure throughput and latency against their goals
	@$(RUN) bench

bench-tb: setup-long ## completions that the bench checks per processor second, and where its time is (SEED)
	@$(TOOL) $(LONG) .venv/bin/python -m tb.replay bench --seed "$$SEED"

synth: ## clock and area on an ECP5, placed and routed; sim_build/synth.json (MODULE, SEEDS, SET, QUICK, PRICES)
	@scripts/setup.sh synth
	@$(TOOL) .venv/bin/python -m scripts.synth --module "$$MODULE" --seeds "$$SEEDS" --set "$$SET" \
	    $(if $(QUICK),--quick) $(if $(PRICES),--prices)

report: setup-sim ## make one static site from all results: sim_build/report/index.html
	@.venv/bin/python -m tb.report

waves: setup-sim ## rerun one test with waves (TEST, SEED, SIM, BUILD; CQ, QP, SRQ, WINDOW)
	@$(RUN) waves $(SELECT) --cq "$$CQ" --qp "$$QP" --srq "$$SRQ" --window "$$WINDOW"

record: setup-sim ## write the records of one test to a file that replay judges (TEST, SEED, BUILD, FILE)
	@$(TOOL) .venv/bin/python -m tb.replay record "$$TEST" --build "$$BUILD" --seed "$$SEED" \
	    $(if $(FILE),--out "$$FILE")

replay: setup-sim ## judge recorded traffic again, without a simulator (FILE)
	@exec env $(LONG) .venv/bin/python -m tb.replay replay "$$FILE"

list: setup-sim ## list the simulation jobs and the command for each (TEST)
	@$(RUN) list --test "$$TEST"

defs: setup ## write the files made from hdl/carillon.rdl and models/verbs, and the file lists; prints their names
	@.venv/bin/python -m scripts.gen_defs
	@.venv/bin/python -m scripts.gen_verbs
	@.venv/bin/python -m scripts.gen_filters
	@.venv/bin/python -m scripts.gen_file_list
	@.venv/bin/python -m scripts.gen_where

figures: setup-sim ## write the tables of docs/ from what the last runs left in sim_build
	@.venv/bin/python -m scripts.figures

walk: setup ## draw the pictures of docs/walk_of_a_window.md
	@$(TOOL) .venv/bin/python -m scripts.draw_walk

docs: .venv-docs/.done ## build the site of docs/: sim_build/docs/index.html
	@.venv-docs/bin/python -m sphinx -q -W --keep-going -d sim_build/docs.cache docs sim_build/docs
	@echo "sim_build/docs/index.html"

# Reinstalled when a pin has changed; a run that was stopped leaves no .done.
.venv-docs/.done: requirements-docs.txt | setup-sim
	@.venv/bin/python -m venv --clear .venv-docs
	@.venv-docs/bin/python -m pip install -q --disable-pip-version-check -r requirements-docs.txt
	@touch $@

clean: ## remove everything that was generated, but keep the tools and the history of runs
	@rm -rf sim_build docs/registers.md .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find . \( -name .git -o -name .venv \) -prune -o -name __pycache__ -prune -exec rm -rf {} +

distclean: clean ## remove the tools in .venv and the history of runs in .regression as well
	@rm -rf .venv .venv-docs .regression
