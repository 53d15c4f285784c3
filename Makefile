# `make test` is what a change must pass. It needs Go, a C compiler (for the
# race detector) and network access to the Go modules, nothing else.
# `make help` lists the targets. GO=path chooses another Go.

GO          ?= go
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
MODULES     := $(shell sed -e 's/\#.*//' allmodules | awk 'NF {print $$1}')
# Files behind these tags are checked with the others, and run by their target.
TAGS        := conformance,integration

SHELL       := bash
.SHELLFLAGS := -eu -o pipefail -c
.NOTPARALLEL:
.PHONY: help test fmt-check tidy-check verify vet staticcheck cross unit norace adapters api fmt cover bench gobench conformance integration faults obligations profiles soak

ifeq ($(strip $(MODULES)),)
$(error the file allmodules lists no module)
endif

# $(call each,what,command) runs the command in every module, two at a time. The command
# is read by another shell: $$ is $, and it has no single quotes.
each = @.ci/each '$(1)' '$(2)' $(MODULES)

# $(call compile,what,command) has the root go first. What it needs the others need, too,
# and go commands at the same time would compile it more than once.
compile = @.ci/each '$(1)' '$(2)' . && .ci/each '$(1)' '$(2)' $(filter-out .,$(MODULES))

# Folders that the go command or npm filled hold no source of ours.
SOURCES := find . \( -name node_modules -o -path ./bin -o -name '.?*' \) -prune -o -name '*.go' -print0
QUIET   := { grep -v "no test files" || true; }

help:
	@echo 'make test         everything below up to the line; what a change must pass'
	@echo '  fmt-check       gofmt'
	@echo '  tidy-check      go.mod and go.sum are tidy'
	@echo '  verify          the downloaded modules are unaltered'
	@echo '  vet             go vet'
	@echo '  staticcheck     $(STATICCHECK)'
	@echo '  cross           build and vet for windows and darwin'
	@echo '  unit            tests and fuzz seeds, with the race detector'
	@echo '  norace          without it: what a call may allocate, names by the million, random policies, bombs'
	@echo '--'
	@echo 'make conformance  the official conformance suite'
	@echo 'make integration  real servers; the programs initdb and postgres are needed, too'
	@echo 'make faults       every fault with 20 seeds, into docs/faults.json and README.md'
	@echo 'make obligations  docs/obligations.md from docs/obligations.json'
	@echo 'make profiles     docs/profiles.md from the tools of real servers'
	@echo 'make adapters     docs/adapters.md from what the adapters show with their frameworks'
	@echo 'make soak         faults and kills, for about an hour'
	@echo 'make api          rewrite the golden files of internal/layers'
	@echo 'make fmt          gofmt -w'
	@echo 'make cover        coverage, into bin/'
	@echo 'make bench        our client beside others, into bench/RESULTS.md and bench/SEARCH.md'
	@echo 'make gobench      benchmarks'

test: fmt-check tidy-check verify vet staticcheck cross unit norace
	@echo 'make test: all passed'

# From the root: the folders of all modules are below it.
fmt-check:
	@echo '== gofmt'
	@bad=$$($(SOURCES) | xargs -0 gofmt -l); \
	if [ -n "$$bad" ]; then echo "FAILED: gofmt: run make fmt for" $$bad >&2; exit 1; fi

tidy-check:
	$(call each,go mod tidy -diff,$(GO) mod tidy -diff)

verify:
	$(call each,go mod verify,$(GO) mod verify)

# These read what the compiler made of imported packages. With -race that is what the
# tests need, too: to compile some SDKs a second time takes longer than all the rest.
vet:
	$(call compile,go vet,$(GO) vet -race -tags $(TAGS) ./...)

staticcheck: export GOBIN = $(CURDIR)/bin
staticcheck:
	@$(GO) install $(STATICCHECK)
	$(call compile,staticcheck,GOFLAGS="$${GOFLAGS:-} -race" $(GOBIN)/staticcheck -tags $(TAGS) ./...)

# The output goes nowhere, so that a module with one program leaves no binary. The
# benchmarks are for those who work on this module.
# The tests of sqlstore link a database that is large, and the same on each system.
# Adapters ask nothing of the system, and each has an SDK that takes long to compile.
cross: MODULES := $(filter-out bench sqlstore adapters/%,$(MODULES))
cross:
	$(call compile,build and vet for windows,GOOS=windows $(GO) build -o /dev/null ./... && GOOS=windows $(GO) vet -tags $(TAGS) ./...)
	$(call compile,build and vet for darwin,GOOS=darwin $(GO) build -o /dev/null ./... && GOOS=darwin $(GO) vet -tags $(TAGS) ./...)
	@cd sqlstore && GOOS=windows $(GO) build ./... && GOOS=darwin $(GO) build ./...

unit:
	$(call each,go test,$(GO) test -race -shuffle=on -timeout 5m ./... | $(QUIET))

# The race detector allocates on its own account, and takes ten times as long. What
# runs in one goroutine and is made to be large has nothing to show it.
norace:
	@echo '== without the race detector'
	@$(GO) test -count=1 -run 'Cost$$' ./mcp
	@$(GO) test -count=1 -run '^TestNamesOfAMillionTools$$|^TestHiddenRules|^TestPolicyIsWritten|NotAllocate$$' ./registry
	@$(GO) test -count=1 -run '^Test(Bombs|Copies|UnmapLongEnum)$$' ./registry/profile
	@cd adapters/eino && $(GO) test -count=1 -run Stream . # Eino's own streams race
	@cd registry/rest/openapi && $(GO) test -count=1 -run '^Test(HostileSizes|ReferencesToLargeThings|YAMLBombs)$$' .

conformance:
	@echo '== conformance'
	@$(GO) test -tags conformance -race -v -count=1 -parallel 4 -timeout 15m ./internal/conformance/...

integration:
	@echo '== integration'
	@$(GO) test -tags integration -race -count=1 -parallel 8 -timeout 15m ./internal/integration/...
	@cd sqlstore && $(GO) test -tags integration -race -count=1 -timeout 15m ./...

# Less than six minutes. FAULT_SEEDS=100 make faults runs longer.
faults:
	@echo '== faults'
	@FAULT_SEEDS=$${FAULT_SEEDS:-20} FAULT_REPORT=../../docs/faults.json \
		$(GO) test -race -count=1 -timeout 60m -run '^TestFaults$$' ./transport/transporttest
	@$(GO) test -count=1 ./internal/layers -run '^TestFaultTable$$' -update

obligations:
	@$(GO) test -count=1 ./internal/layers -run '^TestObligations$$' -update

profiles:
	@$(GO) test -count=1 ./internal/layers -run '^TestProfileTable$$' -update

adapters: MODULES := $(filter adapters/%,$(MODULES))
adapters:
	@rm -f docs/adapters/results/*.json
	$(call each,the checks of all adapters,MCPBELT_ADAPTERS=write $(GO) test -count=1 -timeout 5m ./...)
	@$(GO) test -count=1 ./internal/layers -run '^TestAdapter(Modules|Table)$$' -update

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
	@MCPBELT_SOAK=1 $(GO) test -count=1 -v -timeout 1h -run '^TestKilledWhileApproving$$' ./registry
	@echo '== soak: killed servers'
	@$(GO) test -tags integration -race -count=20 -timeout 2h -run Kill ./internal/integration/...

api:
	$(GO) test ./internal/layers -run 'TestAPI|TestGoroutines|TestLinkedModules|TestAdapterModules' -update

fmt:
	@$(SOURCES) | xargs -0 gofmt -l -w

cover:
	@mkdir -p bin
	@$(GO) test -coverpkg=./... -coverprofile=bin/cover.out ./... | $(QUIET)
	@$(GO) tool cover -func=bin/cover.out | tail -n 1
	@echo 'by line: $(GO) tool cover -html=bin/cover.out'

# Takes some minutes. Its flags go into BENCH: make bench BENCH='-rounds 21'.
bench:
	@cd bench && $(GO) run . -out RESULTS.md $(BENCH) && $(GO) run ./search -out SEARCH.md

gobench: export JOBS = 1
gobench:
	$(call each,benchmarks,$(GO) test -run "^$$" -bench . -benchmem ./...)
