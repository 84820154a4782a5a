# Everything a person or a machine does with this repository. Start with `make up` or `make test`.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help up build test check gen bench fuzz clean deny

# Where the Python environment and the built tools live; CI points it outside the clone.
export TERRACE_CACHE_DIR ?= $(CURDIR)/.cache

XTASK := cargo run --quiet --locked --package xtask --
# Options for `terrace up`: make up ARGS="--port 7443"
ARGS ?=
# How long each fuzz target runs: make fuzz SECONDS_EACH=600
SECONDS_EACH ?= 60

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

up: ## Build Terrace, start the platform in the foreground and run an example app (ARGS="--port 7443")
	@scripts/ensure cc kubectl postgresql
	@cargo build --release --locked --package terrace
	@exec cargo run --quiet --release --locked --package terrace -- up --deploy examples/apps/static $(ARGS)

build: ## Compile everything
	@scripts/ensure cc
	cargo build --workspace --all-targets --locked

test: ## Set up what the tests need and run every test
	@scripts/ensure cc kubectl venv moto conformance postgresql docker-registry
	cargo test --workspace --locked --no-fail-fast

check: ## Formatting, house rules, generated files, lints, dependencies
	@scripts/ensure cc cargo-deny
	cargo fmt --all -- --check
	$(XTASK) tidy
	$(XTASK) gen --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	@$(MAKE) --no-print-directory deny

deny:
	@scripts/ensure cargo-deny
	@PATH="$$PATH:$(TERRACE_CACHE_DIR)/tools/bin"; \
	echo "cargo deny check licenses bans sources"; \
	cargo-deny --locked check licenses bans sources; \
	if compgen -G "$${CARGO_HOME:-$$HOME/.cargo}/advisory-db*/*" >/dev/null; then \
		echo "cargo deny check advisories"; \
		cargo-deny --locked check --disable-fetch advisories; \
	else \
		echo "*** SKIPPED: advisories. No advisory database on this machine; \`cargo deny fetch db\` gets one. ***"; \
	fi

gen: ## Write the generated files under deploy/
	@scripts/ensure cc
	$(XTASK) gen

bench: ## Measure; prints the table of docs/benchmarks.md
	@scripts/ensure cc postgresql
	cargo build --release --locked --package terrace
	cargo bench --locked --package control-plane --bench plane
	@scripts/ensure nginx
	cargo bench --locked --package gateway --bench proxy
	cargo bench --locked --package terrace --bench apps
	cargo bench --locked --package terrace --bench services
	cargo bench --locked --package terrace --bench claims
	@scripts/ensure moto
	cargo bench --locked --package terrace --bench aws
	@scripts/ensure kubernetes-mcp-server || echo "agents are measured without a peer beside them"
	cargo bench --locked --package terrace --bench agents

fuzz: ## Run every fuzz target for a bounded time (SECONDS_EACH=60)
	@scripts/ensure cc cargo-fuzz
	@PATH="$$PATH:$(TERRACE_CACHE_DIR)/tools/bin"; cd crates/control-plane; \
	for target in patch schema selector; do \
		mkdir -p "$(TERRACE_CACHE_DIR)/corpus/$$target"; \
		cargo +nightly fuzz run --target-dir "$(TERRACE_CACHE_DIR)/fuzz" $$target \
			"$(TERRACE_CACHE_DIR)/corpus/$$target" fuzz/seeds/$$target -- -max_total_time=$(SECONDS_EACH) -max_len=4096; \
	done

clean: ## Remove what was built or downloaded here
	cargo clean
	rm -rf .cache
