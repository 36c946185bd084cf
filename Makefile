# Every target that carries a `##` comment is printed by `make help`.
# A two-core machine is the reference: -p 2 keeps package runs from starving
# the database server that they share.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSION      ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
FUZZTIME     ?= 30s
TEST_TIMEOUT ?= 20m
PKGS         ?= ./...
GO           ?= go

# The commands that the build and the tests compile are all pure Go; only the
# race detector needs a C compiler.
LDFLAGS := -s -w -X main.version=$(VERSION)

# The version that the rolling upgrade comes from is built from the clone's history;
# where it has none, that one test is left out and a line says so.
EARLIER = export POSTLEDGER_TEST_EARLIER="$${POSTLEDGER_TEST_EARLIER-$$(scripts/earlier.sh >/dev/null || echo none)}"

.PHONY: help deps quickstart test test-long bench lint verify race fuzz build clean

help: ## Print this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

deps: ## Install what the tests need and this machine lacks (DEPS=all adds Chromium)
	@DEPS="$(DEPS)" scripts/deps.sh

build: ## Build bin/postledger, static and reproducible
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/postledger ./cmd/postledger

quickstart: build ## Build, then serve with an embedded ledger and a sandbox that sends nothing
	bin/postledger quickstart

test: deps ## Run every test against real servers (the long proofs aside)
	@trap scripts/stop-testservers.sh EXIT; \
	$(EARLIER); \
	$(GO) test -p 2 -timeout $(TEST_TIMEOUT) $(PKGS)

race: deps ## Run every test under the race detector (needs a C compiler)
	@trap scripts/stop-testservers.sh EXIT; \
	$(EARLIER); \
	CGO_ENABLED=1 $(GO) test -race -p 2 -timeout $(TEST_TIMEOUT) $(PKGS)

test-long: deps ## Run the long proofs (kills, large ledgers), then every fuzzer
	@trap scripts/stop-testservers.sh EXIT; \
	$(EARLIER); \
	POSTLEDGER_LONG=1 $(GO) test -p 1 -timeout 60m -run 'Long' $(PKGS)
	@$(MAKE) --no-print-directory fuzz

fuzz: ## Run every fuzzer for FUZZTIME (30s) each
	@FUZZTIME=$(FUZZTIME) scripts/fuzz.sh $(PKGS)

bench: ## Measure against the floor program on the same servers
	$(GO) run ./internal/bench

lint: ## Check format, vet, staticcheck and the module file
	@scripts/lint.sh

verify: ## Check that what is generated or documented agrees with the code
	@scripts/verify.sh

clean: ## Remove what a build leaves in the tree (the installed tools stay)
	rm -rf bin dist
