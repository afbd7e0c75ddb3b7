# Bare make prints the targets, from the words behind ##.
.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:

# Tools have a module of their own, so that theirs are not the binary's dependencies.
lint := go tool -modfile=tools/go.mod golangci-lint

# Packages whose tests are run with the race detector: where goroutines share things.
concurrent := ./internal/lanes ./internal/live ./internal/store ./internal/jobs ./internal/api

.PHONY: help
help: ## print this
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort | awk -F '\t' '{ printf "  make %-10s %s\n", $$1, $$2 }'

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
test: ## every test, on a Postgres of its own; PG=18 takes that version
	@go run ./internal/pgtest/withpg -- go test -timeout 10m $(ARGS) ./...

.PHONY: test-race
test-race: ## the tests of what runs at once, with the race detector
	@go run ./internal/pgtest/withpg -- go test -race -timeout 15m $(ARGS) $(concurrent)

.PHONY: check
check: ## format, vet, lint, and that generated files are what their source says
	@unformatted=$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go'))
	if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	$(lint) run ./...
	go run ./cmd/api openapi --check
	go test -count=1 .
	echo "check: all well"

.PHONY: generate
generate: openapi ## write generated files anew
	@go generate ./...

.PHONY: openapi
openapi: ## write openapi.yaml anew
	@go run ./cmd/api openapi > openapi.yaml.new
	mv openapi.yaml.new openapi.yaml

.PHONY: race
race: ## 20 seconds: the naive way sells a seat many times, a lock queues up, Rowlock sells it once
	@go run ./bench/race

.PHONY: bench
bench: ## lanes against a transaction for each request, side by side
	@go test -run '^$$' -bench Lane -benchtime 1x -timeout 30m $(ARGS) ./internal/store

.PHONY: prove
prove: build ## ask the database of make run, or DATABASE_URL, whether any rule is broken
	@bin/rowlock prove

.PHONY: ops
ops: build ## ops queries: make ops lists them, make ops Q=holds_by_show SHOW=… runs one
	@bin/rowlock ops $(Q) $(if $(SHOW),--show=$(SHOW)) $(ARGS)
