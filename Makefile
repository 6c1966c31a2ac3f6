# Plinth. `make` lists the targets; every one of them checks the prerequisites first.

# Tools that are run and never installed. They do not enter go.mod.
GOLANGCI_LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

GO      ?= go
BINARY  := bin/plinth
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unversioned)

# Where `make install` puts the program: PREFIX/bin, else where `go install` would.
ifdef PREFIX
BINDIR ?= $(PREFIX)/bin
else
BINDIR ?= $(or $(shell $(GO) env GOBIN 2>/dev/null),$(firstword $(subst :, ,$(shell $(GO) env GOPATH 2>/dev/null)))/bin)
endif

# No path of this machine stands in a program, so one build is good for every checkout.
export GOFLAGS := $(strip $(shell $(GO) env GOFLAGS 2>/dev/null) -trimpath)

# The modules of the guests, tied to the main one by go.work.
GUESTS   := $(sort $(patsubst %/go.mod,./%/...,$(wildcard sdk-plugins/go/go.mod plugins/builtin/*/go.mod plugins/examples/*/go.mod plugins/templates/*/go.mod tests/conformance/guests/go/go.mod)))
PACKAGES := ./... $(GUESTS)
# Those that wait longest begin first, while others compute.
LONGEST  := ./tests/e2e ./tests/docs ./cmd/host ./tests/model

# Runs a command with the builtins compiled once for all packages: scripts/warm.
WARM := GO='$(GO)' scripts/warm

# Packages that are tested at once. Tests wait more than they compute, so two cores take more than two.
JOBS        ?= $(shell n=$$(getconf _NPROCESSORS_ONLN); echo $$((n > 4 ? n : 4)))
FUZZTIME    ?= 10s
CRASH_COUNT ?= 3
SEQUENCES   ?= 10000

.DEFAULT_GOAL := help
.PHONY: help prerequisites build install demo test race arch crash fuzz lint lint-fix fmt golden plugins plugins-verify guests guests-verify rust sdk authors \
	bench-store bench-turn bench-session bench-context bench-engine bench-boundary bench-hello bench-codec bench-builtins bench-sdk bench-reload bench-dev soak-reload model verify verify-long clean

help: prerequisites ## this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

prerequisites: ## say what the build needs and this machine lacks
	@GO='$(GO)' scripts/prerequisites

build: prerequisites ## build bin/plinth
	$(GO) build -ldflags '-X main.version=$(VERSION)' -o $(BINARY) ./cmd/host

install: build ## install plinth into PREFIX/bin, or where `go install` would
	install -d '$(DESTDIR)$(BINDIR)'
	install -m 0755 $(BINARY) '$(DESTDIR)$(BINDIR)/plinth'
	@echo 'installed $(DESTDIR)$(BINDIR)/plinth'

demo: build ## a session from prompt to answer, without a key or a network
	scripts/demo

# Never from the cache: tests that build the program depend on more than go test sees.
test: prerequisites ## all tests that need nothing but Go and a C compiler
	$(WARM) $(GO) test -p $(JOBS) -count=1 $(LONGEST) $(PACKAGES)

race: prerequisites ## the tests under the race detector
	JOBS=$(JOBS) $(WARM) scripts/race

arch: prerequisites ## the rules on imports and package state
	$(GO) test -count=1 ./tests/arch

crash: prerequisites ## kill and restart tests, CRASH_COUNT times
	packages=$$(scripts/matching '^func Test[A-Za-z0-9_]*(Kill|Crash)') && \
		$(GO) test -count=$(CRASH_COUNT) -run 'Kill|Crash' $$packages

model: prerequisites ## SEQUENCES random sequences against the reference; the result goes into docs
	PLINTH_MODEL=$(SEQUENCES) PLINTH_MODEL_PAGE='$(CURDIR)/docs/explanation/model-test.md' $(GO) test -count=1 -timeout 4h ./tests/model

fuzz: prerequisites ## every fuzz target for FUZZTIME
	scripts/fuzz $(FUZZTIME)

lint: prerequisites ## golangci-lint over all modules, go vet among it
	$(GO) run $(GOLANGCI_LINT) run $(PACKAGES)

lint-fix: prerequisites ## let the linters repair what they can
	$(GO) run $(GOLANGCI_LINT) run --fix $(PACKAGES)

fmt: prerequisites ## format the Go code
	gofmt -w -s .

golden: prerequisites ## rewrite the golden files from what the code does now
	packages=$$(scripts/matching 'flag\.Bool\("update"|plinth/session/sessiontest"') && $(GO) test $$packages -update

plugins: prerequisites ## rebuild the guests (needs TinyGo)
	scripts/plugins

sdk: ## rewrite the SDKs and templates that plinth plugin new unpacks
	GO='$(GO)' scripts/sdk

plugins-verify: prerequisites ## rebuild the guests elsewhere and compare (needs TinyGo)
	scripts/plugins-verify

bench-store: prerequisites ## figures of the log
	$(GO) run ./tests/bench/store

bench-turn: prerequisites ## figures of a turn
	$(GO) run ./tests/bench/turn

bench-session: prerequisites ## figures of many sessions and of long ones
	$(GO) run ./tests/bench/session machine replay history idle streams burst host

bench-context: prerequisites ## figures of contexts, compaction, forks and removals
	$(GO) run ./tests/bench/session machine observe prefix compact fork delete

bench-engine: prerequisites ## figures of the Wasm engine (needs TinyGo for some)
	$(GO) run ./tests/bench/engine

bench-boundary: prerequisites ## figures of the host operations (needs ripgrep to compare with)
	$(GO) run ./tests/bench/boundary

bench-hello: prerequisites ## figures of what a model is sent for "hello"
	$(GO) run ./tests/bench/hello

bench-codec: prerequisites ## figures of the providers' codecs
	$(GO) run ./tests/bench/codec

bench-builtins: prerequisites ## figures of the builtin tools, against plain Go, of the codecs, and of a turn
	$(GO) run ./tests/bench/builtins
	$(GO) run ./tests/bench/codec
	$(GO) run ./tests/bench/turn

bench-sdk: prerequisites ## size and speed of a tool in each SDK; the table goes into docs (needs TinyGo, Rust and npm)
	$(GO) run ./tests/bench/sdk

bench-reload: prerequisites ## figures of replacing plugins
	$(GO) run ./tests/bench/reload machine save blocked

bench-dev: prerequisites ## what plinth plugin dev adds to the compiler (needs TinyGo and Rust)
	$(GO) run ./tests/bench/dev

soak-reload: prerequisites ## a plugin replaced a thousand times under load
	$(GO) run ./tests/bench/reload soak

verify: prerequisites ## nothing unformatted, untidy or stale
	@unformatted=$$(gofmt -l -s .); test -z "$$unformatted" || { echo "not formatted, run make fmt:"; echo "$$unformatted"; exit 1; }
	scripts/tidy
	scripts/plugins-verify

# Those with Go's own compiler are among the tests.
authors: prerequisites ## every template and page for plugin authors, with the real compilers (needs Rust, npm and TinyGo)
	$(WARM) $(GO) test -count=1 -timeout 30m -run 'EveryTemplate|PagesForAuthors' ./tests/authors ./tests/docs -toolchains=rust,tinygo,assemblyscript

guests: prerequisites ## rebuild the tests' guests of other toolchains (needs Rust, npm and TinyGo)
	tests/conformance/guests/build

rust: ## the SDK for Rust and the examples on it: format, clippy, tests (needs Rust)
	scripts/rust

guests-verify: prerequisites ## rebuild them elsewhere and compare
	tests/conformance/guests/build --verify

verify-long: verify lint race guests-verify ## verify, lint, race and the long share of random, crash and fuzz tests
	packages=$$(scripts/matching '"pgregory.net/rapid"' | grep -vx './tests/model') && $(GO) test $$packages -count=1 -rapid.checks=5000
	$(MAKE) model SEQUENCES=10000
	$(MAKE) crash CRASH_COUNT=20
	$(GO) test -count=1 -run TestRecoveryPolicies ./tests/e2e -sessions=100
	$(GO) test -count=1 -timeout 30m -run TestKilled ./tests/e2e -history-kills=30
	$(GO) test -count=1 -timeout 30m -run TestTaskOfSixtyTurns ./tests/e2e -task-kills=40
	$(GO) test -count=1 -timeout 30m -run TestPluginsKilled ./tests/e2e -plugin-kills=200
	$(MAKE) fuzz FUZZTIME=2m

clean: ## remove what was built
	rm -rf bin
