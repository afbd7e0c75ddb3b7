# Bare make prints the targets, from the words behind ##.
.DEFAULT_GOAL := help
SHELL := bash

# Tools have a module of their own, so that what they need is not what the
# binary needs.
lint := go tool -modfile=tools/go.mod golangci-lint

# Where goroutines share things: tested with the race detector too.
concurrent := ./internal/lanes ./internal/live ./internal/store ./internal/jobs ./internal/api ./internal/checkout ./internal/sandbox ./internal/payment

.PHONY: help
help: ## print this
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | sort | awk -F '\t' '{ printf "%-18s %s\n", $$1, $$2 }'

.PHONY: build
build: ## build bin/rowlock
	@go build -o bin/rowlock ./cmd/api

.PHONY: run
run: build ## Postgres, demo data, API, jobs and docs on http://localhost:8080; ADDR=… changes that
	@exec bin/rowlock run

.PHONY: reset
reset: build ## drop the database of make run
	@bin/rowlock reset

.PHONY: test
test: ## every test, on a Postgres of its own; PG=18 takes that version, ARGS=… goes to go test, PACKAGES=… are fewer
	@go run ./internal/pgtest/withpg -- go test -timeout 20m $(ARGS) $(or $(PACKAGES),./...)

.PHONY: test-race
test-race: ## tests of what runs at once, with the race detector
	@go run ./internal/pgtest/withpg -- go test -race -timeout 30m $(ARGS) $(concurrent)

.PHONY: check
check: ## lint, with vet and format, and the house rules of tidy_test.go, generated files among them
	@$(lint) run ./...
	@$(MAKE) --no-print-directory breaking
	@go test -count=1 .
	@echo "check: all well"

.PHONY: breaking
breaking: ## whether openapi.yaml breaks clients of the last release without the changelog saying "breaking"
	@base=$$(git describe --tags --match 'v*' --abbrev=0 2>/dev/null) || { echo "breaking: there is no release yet to compare with"; exit 0; }; \
	if sed "/^## \[\{0,1\}$${base#v}/,\$$d" CHANGELOG.md | grep -qi breaking; then echo "breaking: the changelog says so"; exit 0; fi; \
	old=$$(mktemp) && trap 'rm -f "$$old"' EXIT && git show "$$base:openapi.yaml" >"$$old" && \
	go tool -modfile=tools/go.mod oasdiff breaking --fail-on ERR "$$old" openapi.yaml

.PHONY: generate
generate: ## write generated files anew: openapi.yaml, docs/problems.md, docs/settings.md, River's migrations
	@go generate ./...
	@go run ./cmd/api documents .

web/node_modules: web/package-lock.json
	@npm --prefix web ci --ignore-scripts --no-audit --no-fund --loglevel error && touch $@

.PHONY: web
web: web/node_modules ## bundle the pages of web/ into internal/web/assets; needs Node, which nothing else does
	@npm --prefix web run --silent check && npm --prefix web run --silent build

.PHONY: sdk
sdk: web/node_modules ## write sdk/typescript/src anew from openapi.yaml; needs Node
	@npm --prefix web run --silent sdk

.PHONY: race
race: ## 20 seconds: the naive way sells a seat many times, a lock queues up, Rowlock sells it once
	@go run ./bench/race

.PHONY: bench
bench: ## every figure of docs: Rowlock and five other ways side by side, in rounds; ARGS='--only hot --rounds 3', --list
	@go run ./bench $(ARGS)

.PHONY: bench-quick
bench-quick: ## in two minutes: one short round of eight rows, none over HTTP, to see that they work
	@go run ./bench --quick $(ARGS)

.PHONY: load
load: ## an on-sale drill against make run, or ARGS='--target https://… --i-own-this-host'; see docs/load.md
	@go run ./cmd/load $(ARGS)

.PHONY: torture
torture: ## minutes of random load with every kind of fault, and a proof that nothing broke; ARGS='--seed 7 --for 5m'
	@go run ./torture $(ARGS)

FUZZTIME ?= 30s
.PHONY: fuzz
fuzz: ## every fuzzer for FUZZTIME=30s each; what one finds stays in its testdata/fuzz
	@go run ./internal/pgtest/withpg -- bash -c 'set -e; for dir in $$(git grep -l "^func Fuzz" -- "*_test.go" | xargs -n 1 dirname | sort -u); do \
	for fuzzer in $$(go test -list "^Fuzz" ./$$dir | grep "^Fuzz"); do echo "== $$dir $$fuzzer"; \
	go test -run "^$$" -fuzz "^$$fuzzer\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 50x -parallel 1 ./$$dir; done; done'

.PHONY: buyers
buyers: build ## 200 people a second hold, pay and fetch tickets over HTTP; ARGS='-rate 100 -for 30s'
	@go run ./bench/buyers $(ARGS)

.PHONY: prove
prove: build ## ask the database of make run, or DATABASE_URL, whether any rule is broken
	@bin/rowlock prove

.PHONY: ops
ops: build ## ops queries: make ops lists them, make ops Q=holds_by_show SHOW=… runs one; also SEAT=…, RESERVATION=…, BOOKING=…
	@bin/rowlock ops $(Q) $(if $(SHOW),--show='$(SHOW)') $(if $(SEAT),--seat='$(SEAT)') $(if $(RESERVATION),--reservation='$(RESERVATION)') $(if $(BOOKING),--booking='$(BOOKING)') $(ARGS)
