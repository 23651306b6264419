# SPDX-License-Identifier: Apache-2.0
# Every target sets up what it needs by itself: `make sim` works in a fresh checkout.

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

ROOT := $(dir $(abspath $(lastword $(MAKEFILE_LIST))))
RUN = cd '$(ROOT)' && PATH='$(ROOT)scripts/bin':"$$PATH" .venv/bin/python -m tb.runner
# make passes them on as written; the runner checks them and names what is wrong.
SELECT = --test '$(TEST)' --seed '$(SEED)' --seeds '$(SEEDS)' --sim '$(SIM)' --build '$(BUILD)'

.PHONY: help setup sim tours test negatives formal mutate coverage soak faults bench lint waves model list clean distclean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' '$(ROOT)Makefile'
	@echo
	@awk '/^#= / { sub(/^#= /, "  "); print }' '$(ROOT)Makefile'

#= TEST=name      test, module or module.test; several with commas; * is a wildcard
#= SEED=n         one seed;  SEEDS=20 is 1 to 20, SEEDS=3,8,20-25 a list
#= SIM=icarus     the other simulator (default: verilator, and what tests declare for icarus)
#= BUILD=name     only this build of tb/builds.yaml
#= AGAIN=1        judge what the last runs left, without simulating (make coverage)
#= POINT=file:line  tests that hit this point of the design (make coverage), after a run
#= PROOF=name     only these proofs (make formal);  QUICK=1 those of make test;  PLANTED=1 with their faults
#= JOBS=n         parallel simulations or proofs (default: all cores);  TIMEOUT=s limit of one job
#= COUNT=n        mutants (make mutate; 1000); SEED=n chooses them, MODULE=glob their modules,
#=                PROVE=s limits the proofs of one mutant, in seconds of processor time (60)
#= FAULT=name     only these faults (make negatives, make faults)
#= N=n            completions to judge (make soak; default 10000000); SEED=n repeats or resumes a campaign

setup: ## install the tools into .venv (and Debian packages, as root); done by each target
	@'$(ROOT)scripts/setup.sh'

sim: setup ## run the simulation regression (TEST, SEED, SEEDS, SIM, BUILD, JOBS, TIMEOUT)
	@$(RUN) sim $(SELECT) --jobs '$(JOBS)' --timeout '$(TIMEOUT)'

tours: setup ## drive every transition of the models' graphs into the RTL; table (JOBS)
	@$(RUN) tours --jobs '$(JOBS)'

test: setup ## run everything: Python tests, lint, quick proofs, simulation regression, negative tests
	@$(RUN) test --jobs '$(JOBS)'

negatives: setup ## show that tests fail on a broken design: faults of tb/faults/*.yaml (FAULT, JOBS)
	@$(RUN) negatives --fault '$(FAULT)' --jobs '$(JOBS)'

coverage: setup ## measure code coverage of hdl/ by the regression; fails below 100 % (TEST, JOBS, POINT, AGAIN)
	@$(RUN) coverage --test '$(TEST)' --jobs '$(JOBS)' --point '$(POINT)' $(if $(AGAIN),--again)

formal: setup ## prove properties of the design: formal/*/proofs.yaml (PROOF, PLANTED, QUICK, JOBS)
	@$(RUN) formal --proof '$(PROOF)' $(if $(QUICK),--quick) $(if $(PLANTED),--planted) --jobs '$(JOBS)'

mutate: setup ## run the tests on mutants of the design (COUNT, SEED, MODULE, JOBS, PROVE)
	@$(RUN) mutate --count '$(COUNT)' --seed '$(SEED)' --module '$(MODULE)' --jobs '$(JOBS)' --prove-seconds '$(PROVE)'

soak: setup ## random traffic of everything for long; Ctrl-C stops, SEED resumes (N, SEED, JOBS)
	@$(RUN) soak --completions '$(N)' --seed '$(SEED)' --jobs '$(JOBS)'

faults: setup ## run the campaign of external faults: table and sim_build/faults.json (FAULT, JOBS)
	@$(RUN) faults --fault '$(FAULT)' --jobs '$(JOBS)'

model: setup ## run the reference model's tests only
	@$(RUN) model

lint: setup ## run the static checks: Verilator, Icarus, Yosys, ruff, mypy
	@$(RUN) lint

bench: setup ## measure throughput and latency against their goals
	@$(RUN) bench

waves: setup ## rerun one test with waves (TEST, SEED, SIM, BUILD)
	@$(RUN) waves $(SELECT)

list: setup ## list the simulation jobs and the command for each (TEST)
	@$(RUN) list --test '$(TEST)'

clean: ## remove everything that was generated, but keep the tools
	@rm -rf '$(ROOT)sim_build'

distclean: clean ## remove the tools in .venv as well
	@rm -rf '$(ROOT).venv'
