# `make test` checks the core module. It needs Go, a C compiler (for the race detector)
# and network access to the Go modules, nothing else. `make check` is what a change must
# pass. `make help` lists the targets. GO=path chooses another Go.

export GO   ?= go
MODULES     := $(shell sed -e 's/\#.*//' allmodules | awk 'NF {print $$1}')
ADAPTERS    := $(filter adapters/%,$(MODULES))
# Files behind these tags are checked with the others, and run by their target.
TAGS        := conformance,integration,release

# A program with the race detector sleeps a second at its end unless it is told not to.
export GORACE := atexit_sleep_ms=10
# What the go command inherits in tests, too: nothing is compiled with and without it.
RACE        := GOFLAGS="$${GOFLAGS:-} $(shell .ci/goflags .)"
PLAIN       := GOFLAGS="$${GOFLAGS:-} $(shell .ci/goflags cmd/mcpbelt)"

# Compilers, tests and staticcheck spend a fifth of their time on collecting garbage by default.
LESS_GC     := GOGC=200 GOMEMLIMIT=256MiB
# What takes longest begins first, or it runs alone at the end.
LONGEST     := ./host/gateway ./transport ./host ./mcp
# Tests wait at times: two packages more than there are processors keep these busy.
PACKAGES    := $(shell echo $$(($$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2) + 2)))

SHELL       := bash
.SHELLFLAGS := -eu -o pipefail -c
.NOTPARALLEL:
.PHONY: help test check long fmt-check unit source staticcheck lint vuln bench-compare site package tidy-check systems cross race-sqlstore names full norace strangers reproducible binaries conformance integration integration-core \
	faults faults-once verify soak outdated adapters obligations profiles api fmt cover bench gobench

ifeq ($(strip $(MODULES)),)
$(error the file allmodules lists no module)
endif

# Folders that the go command or npm filled hold no source of ours.
SOURCES := find . \( -name node_modules -o -path ./bin -o -name '.?*' \) -prune -o -name '*.go' -print0
QUIET   := { grep -a -v --line-buffered "no test files" || true; }

help:
	@echo 'make test         the core and its examples: gofmt, vet, staticcheck, tests with the race detector, fuzz seeds'
	@echo 'make check        what a change must pass: make test, and all that follows up to the line. It skips'
	@echo '                  modules whose inputs did not change; ALL=1 checks and records all'
	@echo '  vuln            govulncheck on all modules; make check passes without a network'
	@echo '  lint            golangci-lint, with the linters of .golangci.yml'
	@echo '  tidy-check      go.mod and go.sum of the core are tidy'
	@echo '  systems         the types and the exported API of all packages on linux, windows and darwin'
	@echo '  norace          what is slow with the race detector: allocations, bombs'
	@echo '  conformance     the official conformance suite'
	@echo '  integration     real servers and clients, a browser, PostgreSQL'
	@echo '  strangers       programs that get the modules from a proxy, as users do'
	@echo '  faults-once     every fault with one seed'
	@echo '--'
	@echo 'make long         what takes long and is rarely red: downloaded modules are unaltered, all is built'
	@echo '                  and vetted for windows and darwin, sqlstore with the race detector, names by the'
	@echo '                  million, all cases of the tests that make theirs, soak'
	@echo 'make outdated     requirements that have a newer version'
	@echo 'make faults       every fault with 20 seeds, into docs/faults.json and docs/faults.md'
	@echo 'make obligations  docs/obligations.md from docs/obligations.json'
	@echo 'make profiles     docs/profiles.md from the tools of real servers'
	@echo 'make adapters     docs/adapters.md from what the adapters show with their frameworks'
	@echo 'make soak         faults and kills, for about an hour'
	@echo 'make api          rewrite the golden files of internal/layers'
	@echo 'make fmt          gofmt -w'
	@echo 'make binaries     archives of mcpbelt for all systems: make binaries VERSION=v0.2.0, into bin/v0.2.0'
	@echo 'make site         a site of docs, with a search, into bin/site'
	@echo 'make package      all that a release of the command offers: make package VERSION=v0.2.0, into bin/v0.2.0'
	@echo 'make cover        coverage, into bin/'
	@echo 'make bench        our client beside others, search and the gateway, into bench/RESULTS.md, SEARCH.md and GATEWAY.md'
	@echo 'make gobench      benchmarks'
	@echo 'make bench-compare COMMIT=main PACKAGES=./registry   benchmarks of a commit and of now, by benchstat'

test: fmt-check unit
	@.ci/each "$(MAKE) source" "$(MAKE) staticcheck"
	@echo 'make test: all passed'

check:
	@.ci/check

long: verify cross race-sqlstore names full reproducible soak

# From the root: the folders of all modules are below it.
fmt-check:
	@echo '== gofmt'
	@bad=$$($(SOURCES) | xargs -0 gofmt -l); \
	if [ -n "$$bad" ]; then echo "FAILED: gofmt: run make fmt for" $$bad >&2; exit 1; fi
	@.ci/words || { echo "FAILED: .ci/words says what to call these" >&2; exit 1; }

# Staticcheck is built beside the tests, which wait at times. The timeout only ends tests
# that hang: a busy machine does not reach it (.ci/busy). SHUFFLE=on runs the tests
# of a package in another order each time, and so runs those, too, that did not change.
unit:
	@echo '== go vet and go test, with the race detector (the first packages take two minutes to compile on a new machine)'
	@$(LESS_GC) .ci/tool staticcheck -version >/dev/null 2>&1 & \
	status=0; \
	$(LESS_GC) $(RACE) FAULT_SEEDS=0 $(GO) test -p $(PACKAGES) -vet=all $(SHUFFLE:%=-shuffle=%) -timeout 60m $(LONGEST) \
		$$($(GO) list ./... | grep -v '/internal/layers$$') | $(QUIET) || status=$$?; \
	wait; exit $$status

# What reads the source runs in one goroutine. What it has compiled is compiled with the race detector, as by unit.
source:
	@$(LESS_GC) $(RACE) $(GO) test -race=false -vet=all -timeout 60m ./internal/layers

# It reads what the compiler made of imported packages: with -race it is there already.
staticcheck:
	@echo '== staticcheck'
	@GOGC=400 $(RACE) .ci/tool staticcheck -tags $(TAGS) ./...

# The core's and the command's.
lint:
	@echo '== golangci-lint'
	@$(RACE) .ci/tool golangci-lint run ./...
	@cd cmd/mcpbelt && GOFLAGS="$${GOFLAGS:-} $$(../../.ci/goflags cmd/mcpbelt)" ../../.ci/tool golangci-lint run ./...

vuln:
	@echo '== govulncheck'
	@.ci/vuln

# The core's; the other modules are looked at by .ci/module.
tidy-check:
	@echo '== go mod tidy -diff'
	@$(GO) mod tidy -diff

# MODULES are type-checked from their source, with their tests, for all systems, which
# takes seconds; make cross compiles. The golden files of the API are those of all systems.
systems:
	@echo '== types and API on all systems'
	@$(RACE) $(GO) test -race=false -count=1 -timeout 60m ./internal/layers -run '^Test(API|Systems|DocCode|LinkedModules|AdapterModules)$$' -modules "$(MODULES)" -systems all

# What is built goes nowhere, so that a program leaves no binary.
cross:
	@for system in windows darwin; do \
		echo "== build and vet for $$system"; \
		GOOS=$$system .ci/each $(patsubst %,'cd % && $(GO) build -o /dev/null ./... && $(GO) vet -tags $(TAGS) ./...',$(filter-out $(ADAPTERS) bench,$(MODULES))); \
	done

# The race detector allocates on its own account, and takes ten times as long. What
# runs in one goroutine and makes many cases has nothing to show it.
norace:
	@echo '== without the race detector'
	@$(PLAIN) $(GO) test -run 'Cost$$' ./mcp
	@MCPBELT_FULL=1 $(PLAIN) $(GO) test -run '^Test(FitAnything|ResultsWeigh.*|UnknownNameAllocates|.*NotAllocate)$$' ./host ./registry ./registry/result
	@MCPBELT_FULL=1 $(PLAIN) $(GO) test ./registry/profile ./registry/rest/openapi ./host/config ./internal/schemagate ./internal/redact ./internal/jsonc ./internal/mask

# The script .ci/release, and each module: it is released into a proxy in a folder, and got
# from there. MODULES limits them.
strangers:
	@echo '== programs that get the modules'
	@MODULES="$(MODULES)" $(GO) test -tags release -count=1 -timeout 60m ./internal/release

# The same version makes the same bytes, whatever the folders and caches.
reproducible:
	@MCPBELT_FULL=1 $(MAKE) strangers MODULES=cmd/mcpbelt

# The archives of a published version.
binaries:
	@$(GO) run ./internal/release/binaries $(VERSION) bin/$(VERSION)

# Those, and packages, an image and what else a release has.
package:
	@.ci/package $(VERSION) bin/$(VERSION)

conformance:
	@echo '== conformance'
	@$(RACE) $(GO) test -tags conformance -vet=all -v -count=1 -parallel 4 -timeout 60m ./internal/conformance/...

# make check runs the tests of sqlstore by .ci/module.
integration: integration-core
	@echo '== integration: PostgreSQL'
	@cd sqlstore && GOFLAGS="$${GOFLAGS:-} $$(../.ci/goflags sqlstore)" $(GO) test -tags integration -vet=all -count=1 -timeout 60m ./...

integration-core:
	@echo '== integration'
	@$(RACE) $(GO) test -tags integration -vet=all -count=1 -parallel 8 -timeout 60m ./internal/integration/...

# Nothing else should run beside it.
faults-once:
	@echo '== faults'
	@FAULT_SEEDS=1 $(RACE) $(GO) test -count=1 -timeout 60m -run '^TestFaults$$' ./transport/transporttest

# Less than six minutes. FAULT_SEEDS=100 make faults runs longer.
faults:
	@echo '== faults'
	@FAULT_SEEDS=$${FAULT_SEEDS:-20} FAULT_REPORT=../../docs/faults.json \
		$(GO) test -race -count=1 -timeout 60m -run '^TestFaults$$' ./transport/transporttest
	@$(GO) test -count=1 ./internal/layers -run '^TestFaultTable$$' -update

obligations:
	@$(GO) test -count=1 ./internal/layers -run '^TestObligations$$' -update

profiles:
	@$(GO) test -count=1 ./registry/profile -run '^TestProfileTable$$' -update

adapters:
	@rm -f docs/adapters/results/*.json
	@.ci/each $(patsubst %,'cd % && MCPBELT_ADAPTERS=write $(GO) test -count=1 -timeout 5m ./...',$(ADAPTERS))
	@$(GO) test -count=1 ./internal/layers -run '^TestAdapter(Modules|Table)$$' -modules all -update

# Reads all that was downloaded.
verify:
	@.ci/each $(patsubst %,'cd % && $(GO) mod verify',$(MODULES))

# Requirements of each module that have a newer version or a newer major version.
outdated:
	@.ci/outdated

# Tests that make their cases make few by default.
full:
	@echo '== all cases of the tests that make theirs'
	@MCPBELT_FULL=1 $(RACE) $(GO) test -count=1 -timeout 60m $$(grep -rl 'assert\.Cases(' --include='*_test.go' mcp transport auth session registry host internal storage | xargs -n1 dirname | sort -u | sed 's,^,./,')

# A million names of hostile servers and tools, in each scheme.
names:
	@$(GO) test -count=1 -run '^TestNamesOfAMillionTools$$' ./registry/names

# The database driver takes minutes to compile with the race detector.
race-sqlstore:
	@cd sqlstore && $(GO) test -race -tags integration -timeout 60m ./...
	@cd cmd/mcpbelt && $(GO) test -race -tags integration -run PostgreSQL -timeout 60m .

# About an hour. Not part of the checks of a change.
soak:
	@echo '== soak: faults'
	@FAULT_SEEDS=200 $(GO) test -race -count=1 -timeout 2h -run '^TestFaults$$' ./transport/transporttest
	@echo '== soak: killed hosts'
	@MCPBELT_SOAK=1 $(GO) test -count=1 -v -timeout 1h -run '^TestWatchdogHostKilled' ./transport
	@echo '== soak: storms'
	@MCPBELT_SOAK=1 $(GO) test -count=1 -v -timeout 2h -run '^TestStorm' ./session
	@echo '== soak: killed writers'
	@MCPBELT_SOAK=1 $(GO) test -count=1 -v -timeout 1h -run '^TestKilledWriters$$' ./session/filestore
	@MCPBELT_SOAK=1 $(GO) test -count=1 -v -timeout 1h -run '^TestKilledWhileApproving$$' ./registry/ledger
	@echo '== soak: approvals'
	@MCPBELT_SOAK=1 $(GO) test -race -count=1 -v -timeout 1h -run '^TestApprovalsWhileDefinitionsFlip$$' ./registry
	@echo '== soak: killed servers'
	@$(GO) test -tags integration -race -count=20 -timeout 2h -run Kill ./internal/integration/...

api:
	$(GO) test -timeout 60m ./internal/layers -run 'TestAPI|TestGoroutines|TestLinkedModules|TestAdapterModules' -modules all -systems all -update
	$(GO) test ./internal/zerocalls -run TestTable -update

fmt:
	@$(SOURCES) | xargs -0 gofmt -l -w

cover:
	@mkdir -p bin
	@$(GO) test -coverpkg=./... -coverprofile=bin/cover.out ./... | $(QUIET)
	@$(GO) tool cover -func=bin/cover.out | tail -n 1
	@echo 'by line: $(GO) tool cover -html=bin/cover.out'

# Takes some minutes. Its flags go into BENCH: make bench BENCH='-rounds 21'.
bench:
	@cd bench && $(GO) run . -out RESULTS.md $(BENCH) && $(GO) run ./search -out SEARCH.md && $(GO) run ./gateway -out GATEWAY.md

# VitePress comes from npm.
site:
	@.ci/site/build

# COUNT=10 rounds, BENCH=. chooses benchmarks.
bench-compare:
	@.ci/benchcompare $(COMMIT) $(PACKAGES)

gobench:
	@JOBS=1 .ci/each $(patsubst %,'cd % && $(GO) test -run "^$$" -bench . -benchmem ./...',$(MODULES))
