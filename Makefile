# raybridge: build, test and demo. `make help` lists the targets.

GOLANGCI_VERSION := v2.15.0
BIN      := bin
TOOLS    := .cache/bin
GO       ?= go
# A number of inputs (30000x) or a time (10m); by time, Go's fuzzer now and then fails
# with "context deadline exceeded" when the time ends while it minimises an input.
FUZZTIME ?= 30000x
# Linting ros2dds needs Cyclone DDS's headers, which `make setup-peers` installs.
LINT_TAGS ?= peers
SOAK     ?= 60s

# Live tests need an OpenGL context; scripts/setup.sh sees to it.
export REQUIRE_GL ?= 1

.DEFAULT_GOAL := help
.NOTPARALLEL:

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## install what the machine lacks (nothing, the second time)
	@scripts/setup.sh build

.PHONY: setup-test
setup-test: ## install what the tests need besides
	@scripts/setup.sh build test

.PHONY: build
build: setup ## build bin/raybridge
	$(GO) build -o $(BIN)/raybridge ./cmd/raybridge

.PHONY: build-ros2dds
build-ros2dds: setup ## build bin/raybridge-ros2dds, which speaks ROS 2's DDS natively
	@scripts/setup.sh build ros2dds
	$(GO) build -tags ros2dds -o $(BIN)/raybridge-ros2dds ./cmd/raybridge

.PHONY: demo
demo: build ## record ten seconds of the city; writes out/demo
	$(BIN)/raybridge run --scene city --duration 10s --out out/demo --bridge mcap:recording --report
	@echo
	@echo "Open file://$(CURDIR)/out/demo/report.html in a browser."
	@echo "out/demo/recording is a rosbag2: ros2 bag play out/demo/recording, or open its .mcap file in Foxglove."

.PHONY: pictures
pictures: build ## make the pictures of docs/images anew
	$(BIN)/raybridge run --scene city --duration 100ms --out out/pictures --report --quiet
	$(GO) run ./docs/images out/pictures/report.html docs/images/demo.jpg
	$(BIN)/raybridge bench readback --case 1280x720_10hz --runs 1 --plot docs/images/readback.png

.PHONY: test
test: setup-test ## run all tests, live OpenGL ones too, with the race detector
	scripts/with-display.sh $(GO) test -race -timeout 20m ./...

.PHONY: test-ros2dds
test-ros2dds: setup-test ## run ros2dds's tests that need Cyclone DDS alone, with the race detector
	@scripts/setup.sh build ros2dds
	$(GO) test -race -count=1 -timeout 10m -tags ros2dds ./bridges/ros2dds/...

.PHONY: setup-peers
setup-peers: setup-test ## install the software of others that the bridges are tested against
	@scripts/peers.sh

.PHONY: test-peers
test-peers: setup-peers ## run the bridges against real ROS 1, DDS, Foxglove, ... software
	$(GO) test -count=1 -p 1 -tags 'peers ros2dds' -timeout 20m ./bridges/...

.PHONY: test-short
test-short: ## run the tests that need neither cgo nor OpenGL
	CGO_ENABLED=0 REQUIRE_GL=0 $(GO) test ./...

.PHONY: lint
lint: $(TOOLS)/golangci-lint ## run gofmt, vet and the linters
	$(TOOLS)/golangci-lint run --build-tags '$(LINT_TAGS)' ./...

$(TOOLS)/golangci-lint: Makefile
	GOBIN=$(CURDIR)/$(TOOLS) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	@touch $@

.PHONY: fuzz
fuzz: ## run every fuzz target, FUZZTIME each
	scripts/fuzz.sh $(FUZZTIME)

.PHONY: soak
soak: setup ## run the whole pipeline for SOAK and watch memory and goroutines
	SOAK=$(SOAK) $(GO) test -count=1 -run '^TestSoak$$' -timeout 24h -v ./pipeline/

.PHONY: bench
bench: build ## measure what this machine does; see docs/benchmarks.md
	$(BIN)/raybridge bench

.PHONY: bench-ros2dds
bench-ros2dds: setup-peers ## measure the bridge ros2dds beside a program in C; takes some minutes
	RAYBRIDGE_BENCH=1 $(GO) test -count=1 -tags 'peers ros2dds' -timeout 30m -v -run 'TestThroughputBesideC|TestImages1080p' ./bridges/ros2dds/

.PHONY: generate
generate: ## write docs/config.md, docs/sensors.md and docs/rigs.md anew
	$(GO) generate ./...

.PHONY: clean-tree
clean-tree: ## fail if generating, formatting or tidying would change a file
	$(GO) mod tidy -diff
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w on these"; exit 1; }
	scripts/unchanged.sh $(GO) generate ./...

.PHONY: ci
ci: LINT_TAGS = peers,ros2dds
ci: setup-peers lint clean-tree test test-ros2dds test-peers fuzz soak ## all that CI runs
