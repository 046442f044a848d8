# raybridge: build, test and demo. `make help` lists the targets.

# The tools of developers, pinned. The least version of Go stands in go.mod, that of releases in packaging/go-version.
GOLANGCI_VERSION    := v2.15.0
GOVULNCHECK_VERSION := v1.1.4
BIN      := bin
TOOLS    := .cache/bin
GOLANGCI := $(TOOLS)/golangci-lint-$(GOLANGCI_VERSION)
# Tools whose versions stand in tools/go.mod, so that they don't choose the versions of ours. Its tests read deploy/ with
# others' types.
ACTIONLINT := $(TOOLS)/actionlint
GO       ?= go
# A number of inputs (30000x) or a time (10m); by time, Go's fuzzer now and then fails
# with "context deadline exceeded" when the time ends while it minimises an input.
FUZZTIME ?= 30000x
# Linting ros2dds needs Cyclone DDS's headers, which `make setup-peers` installs.
LINT_TAGS ?= peers
SOAK     ?= 60s

# What `raybridge version` says. An archive of the source has no .git, and says it by itself.
LINKED = -ldflags "-X github.com/raybridge/raybridge.linked=$$([ -e .git ] && scripts/version.sh 2>/dev/null)"

# The line to print before a program is compiled, because the compiler says nothing by itself.
compiling = echo "Compiling $(1): the first time this takes four minutes of one core, or half of that on two."

FORMATTED = $(GO) mod tidy -diff && files=$$(gofmt -l .) && { [ -z "$$files" ] || { echo "run gofmt -w on" $$files; exit 1; }; }

# Live tests need an OpenGL context, those of shaders glslangValidator and spirv-val, those of python/ numpy,
# and those of the live page Chromium; scripts/setup.sh sees to it. Short tests leave the browser out.
export REQUIRE_GL ?= 1
export REQUIRE_GLSLANG ?= 1
export REQUIRE_PYTHON ?= 1
export REQUIRE_CHROMIUM ?= 1

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

.PHONY: setup-browser
setup-browser: ## install the browser that shows the live page to its tests
	@scripts/setup.sh build test browser

.PHONY: build
build: setup ## build bin/raybridge
	@$(call compiling,$(BIN)/raybridge)
	$(GO) build $(LINKED) -o $(BIN)/raybridge ./cmd/raybridge

.PHONY: build-ros2dds
build-ros2dds: setup ## build bin/raybridge-ros2dds, which speaks ROS 2's DDS natively
	@scripts/setup.sh build ros2dds
	@$(call compiling,$(BIN)/raybridge-ros2dds)
	$(GO) build $(LINKED) -tags ros2dds -o $(BIN)/raybridge-ros2dds ./cmd/raybridge

# Such a program starts where there is libc alone: on servers, and in containers. NATS's server would make it a third larger; it
# has the client, so that workers and coordinators of a server that is there work.
PORTABLE := nowindow,nonatsserver
.PHONY: build-portable
build-portable: ## build bin/raybridge-portable, which has no window and needs no library of X11
	@scripts/setup.sh portable
	@$(call compiling,$(BIN)/raybridge-portable)
	$(GO) build $(LINKED) -tags $(PORTABLE) -o $(BIN)/raybridge-portable ./cmd/raybridge

# The bundle for a machine with a GPU and without Go: see docs/benchmarks.md.
PROOF := gpu-proof
# OpenGL over Vulkan, both in software: unlike llvmpipe alone, its fences are really pending.
ZINK  := GALLIUM_DRIVER=zink LIBGL_ALWAYS_SOFTWARE=1 XDG_RUNTIME_DIR=/tmp

.PHONY: gpu-proof-bundle
gpu-proof-bundle: build-portable setup-test ## pack bin/gpu-proof.tar.xz, which proves raybridge on a machine with a GPU
	BUNDLE=$(BIN)/$(PROOF).tar.xz scripts/gpu-proof-bundle.sh $(BIN)/$(PROOF)

# What a release consists of; docs/install.md says what is for whom.
.PHONY: dist
dist: ## make a release's files in out/dist: tar.gz, debs, wheels, images, SBOMs, for amd64 and arm64
	@scripts/setup.sh dist
	scripts/dist.sh

.PHONY: dist-proof
dist-proof: ## make them in two clones, compare them, and try them on bare systems; needs root
	@scripts/setup.sh dist proof
	scripts/dist-same.sh
	scripts/dist-proof.sh
	scripts/arm64-proof.sh

.PHONY: demo
demo: build ## record ten seconds of the city; writes out/demo
	$(BIN)/raybridge demo

.PHONY: pictures
pictures: build setup-browser ## make the pictures of docs/images again
	$(BIN)/raybridge run --scene city --duration 100ms --out out/pictures --report --quiet
	$(GO) run ./internal/gen montage out/pictures/report.html docs/images/demo.jpg
	for weather in clear rain fog; do \
		$(BIN)/raybridge run --scene city --weather $$weather --set sensors.lidar.preset=OusterOS1_64_real --duration 100ms --out out/$$weather --report --quiet || exit 1; \
	done
	$(GO) run ./internal/gen weather out/clear/report.html out/rain/report.html out/fog/report.html docs/images/weather.jpg
	$(BIN)/raybridge run --scene city --rig docs/examples/real-lidar.yaml --duration 100ms --out out/real-lidar --report --quiet
	$(GO) run ./internal/gen clouds out/real-lidar/report.html docs/images/real-lidar.jpg
	mkdir -p out/lenses
	$(GO) run ./internal/gen panorama out/lenses/panorama.npy
	$(BIN)/raybridge run --scene city --rig docs/examples/lenses.yaml --duration 100ms --out out/lenses --report --quiet
	$(GO) run ./internal/gen lenses out/lenses/report.html docs/images/lenses.jpg
	for what in car turn; do \
		$(BIN)/raybridge run --scene city --world csv:docs/examples/shutter/$$what.csv --set world.ego=theirs --rig docs/examples/shutter/rig.yaml \
			--duration 250ms --out out/shutter-$$what --report --quiet && \
		$(GO) run ./internal/gen shutter out/shutter-$$what/report.html docs/images/shutter-$$what.jpg || exit 1; \
	done
	$(BIN)/raybridge bench readback --case 1280x720_10hz --runs 1 --plot docs/images/readback.png
	$(GO) test -count=1 -run '^TestPagePictures$$' ./cmd/raybridge -page-pictures $(CURDIR)/docs/images

# The file's name has the version, so that another version is installed, and no other change does it.
$(GOLANGCI):
	GOBIN=$(CURDIR)/$(TOOLS) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	@mv $(TOOLS)/golangci-lint $@

$(ACTIONLINT): tools/go.mod
	$(GO) -C tools build -o $(CURDIR)/$@ github.com/rhysd/actionlint/cmd/actionlint

# The step of the short tests: SHORT= leaves it out where all tests run afterwards.
SHORT = short='scripts/with-display.sh $(GO) test -short ./...'

# Linting vets, too. The build without windows is vetted besides, for the packages that differ; the build
# without cgo is vetted by .ci/run, because that compiles everything once more.
.PHONY: check
check: setup-test $(GOLANGCI) $(ACTIONLINT) ## what each commit must pass: format, build, vet, lint, generated files, short tests
	@scripts/steps.sh format='$(FORMATTED)' build='$(GO) build ./...' windowless='$(GO) vet -tags $(PORTABLE) ./window ./cmd/raybridge ./cmd/raybridge/internal/sweep/queue ./cmd/raybridge/internal/bench' \
		lint='$(GOLANGCI) run --build-tags $(LINT_TAGS) ./...' \
		workflows='$(ACTIONLINT) .github/workflows/*.yml docs/examples/ci/.github/workflows/*.yml' deploy='$(GO) -C tools test ./...' generate='scripts/unchanged.sh $(GO) generate ./...' $(SHORT)

# The long tests of these spend their time on references, for which the race detector takes three times as
# long. It runs their short ones.
COMPUTED := ./gpu/hostdev ./scene ./sensors/camera

# The tests that look at the live page in a browser. The race detector makes the run behind the page so slow that
# they take four times as long; bridges/stream, whose goroutines serve the page, is tested with it.
BROWSED := ^TestPage[A-Z]

# The tests whose time goes into Python, into many runs of the program, or into the host device, which takes ten times as long with the
# race detector; what they run is tested with it, and nightly they are, too.
RUNS := ^Test(Sets?O[fn][A-Z]|Python|SweepOfRealCases|AStoppedRunWrites|ForeignRigsRun|BenchOfPages|APageChangesNoByte)

.PHONY: test
test: setup-browser ## run all tests, live OpenGL ones too, all but the longest with the race detector
	scripts/with-display.sh $(GO) test -race -skip '$(BROWSED)|$(RUNS)' -timeout 40m $$($(GO) list ./... | grep -vxE '$(subst $() ,|,$(patsubst ./%,.*/%,$(COMPUTED)))')
	$(GO) test -run '$(BROWSED)|$(RUNS)' -timeout 40m ./cmd/raybridge
	$(GO) test -race -short -timeout 40m $(COMPUTED)
	$(GO) test -timeout 40m $(COMPUTED)
	GL_DEVICE=host $(GO) test -timeout 40m . ./scene ./sensors/... ./pipeline
	$(ZINK) $(GO) test -count=1 -run '^(TestManualExposureIsThatOfTheFilm|TestLiveReadyWithinOnePollOfItsFence)$$' ./sensors/camera ./readback
	scripts/sanitize.sh address
	@$(MAKE) build-portable
	scripts/dist-part.sh $(BIN)/raybridge-portable
	scripts/gpu-proof-bundle.sh $(BIN)/$(PROOF)-part ./gpu/glcore ./gpu/gputest
	$(BIN)/$(PROOF)-part/gpu-proof.sh --dry --part out/$(PROOF)-part

.PHONY: setup-peers
setup-peers: setup-test ## install the software of others that the bridges are tested against
	@scripts/setup.sh build embree ros2dds
	@scripts/peers.sh

.PHONY: test-peers
test-peers: setup-peers ## run the bridges against real ROS 1, DDS, Foxglove, ... software
	scripts/test-peers.sh

.PHONY: setup-cpus
setup-cpus: ## install the emulators of other CPUs and arm64's compiler
	@scripts/setup.sh build test cpus

# What .ci/run does, and what it leaves out: many inputs, a long run, tests without cgo, what is chosen for
# GPUs on a device that says it is one, and of the host device its threads, other CPUs, and many scenes.
SCENES ?= 300
# Cases of the sweeps that are disturbed and run out of disk; the second needs root.
SWEEP ?= 200
# Key frames of the set that is written and checked.
KEYFRAMES ?= 20000
.PHONY: nightly
nightly: setup-peers setup-cpus $(GOLANGCI) ## run all that CI runs and more: 30,000 inputs a fuzz target, a soak, no cgo, other CPUs
	@scripts/steps.sh check='$(MAKE) check SHORT= LINT_TAGS=peers,ros2dds' test='$(MAKE) test' no-cgo='CGO_ENABLED=0 REQUIRE_GL=0 $(GO) test ./...' \
		races='scripts/with-display.sh $(GO) test -race -run "$(RUNS)" -timeout 60m ./cmd/raybridge' \
		as-gpu='GL_DEVICE=as-gpu $(GO) test -count=1 -timeout 40m . ./scene ./sensors/... ./pipeline' \
		threads='scripts/sanitize.sh thread' cpus='REQUIRE_QEMU=1 $(GO) test -count=1 -run ^TestOtherCPUs ./gpu/hostdev' \
		scenes='RAYBRIDGE_SCENES=$(SCENES) $(GO) test -count=1 -timeout 2h -run "^TestOddScenes|^TestTenMillion" ./gpu/hostdev' \
		peers='scripts/test-peers.sh' fuzz='scripts/fuzz.sh $(FUZZTIME)' \
		stop='STOP=60s $(GO) test -count=1 -run TestAStoppedRun -timeout 30m ./cmd/raybridge/' \
		sweep='SWEEP=$(SWEEP) REQUIRE_MOUNT=1 $(GO) test -count=1 -run "^TestSweepThroughANight|^TestSweepFillsItsDisk|^TestWorkersThroughANight|^TestSweepOnACluster|^TestWorkersWithOtherClocks" -timeout 2h ./cmd/raybridge/ ./cmd/raybridge/internal/sweep/' \
		dataset='KEYFRAMES=$(KEYFRAMES) $(GO) test -count=1 -run "^TestDatasetThroughANight" -timeout 2h ./cmd/raybridge/' \
		soak='SOAK=$(SOAK) $(GO) test -count=1 -run TestSoak -timeout 24h -v ./pipeline/' \
		dist='$(MAKE) dist-proof' bundle='$(MAKE) gpu-proof-bundle' llvmpipe='$(BIN)/$(PROOF)/gpu-proof.sh --dry out/$(PROOF)-llvmpipe' \
		zink='$(ZINK) $(BIN)/$(PROOF)/gpu-proof.sh --dry out/$(PROOF)-zink'

# MUTANTS='^lidar_scan' picks some by their files and lines.
MUTANTS ?= .
.PHONY: mutants
mutants: setup-test ## change each branch of the shaders once and see a test fail; takes ten minutes
	RAYBRIDGE_MUTANTS='$(MUTANTS)' $(GO) test -count=1 -tags mutants -timeout 24h -v -run '^TestMutants$$' ./shaders/

# It asks https://vuln.go.dev, so it isn't part of check.
.PHONY: vulnerabilities
vulnerabilities: setup ## look up known faults of what the program is linked with; needs the web
	$(GO) run golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION) ./...

# WHAT=lidar measures that alone. WHAT=embree has a program of Embree beside the lidars, and
# wants its library.
WHAT ?=
EMBREE := $(BIN)/embree_check

.PHONY: bench
bench: build $(if $(filter embree,$(WHAT)),$(EMBREE)) ## measure what this machine does, or WHAT=lidar ... alone; see docs/benchmarks.md
	PYTHONPATH=python $(BIN)/raybridge bench $(WHAT)

.PHONY: bench-docs
bench-docs: build setup-test $(EMBREE) $(if $(filter ros2dds,$(or $(WHAT),ros2dds)),setup-peers) ## measure what docs/benchmarks.md states, or WHAT='lidar world' of it, and write its tables
	$(GO) run ./cmd/raybridge/internal/benchdocs $(WHAT)

$(EMBREE): cmd/raybridge/internal/bench/testdata/embree_check.c
	@scripts/setup.sh build embree
	mkdir -p $(BIN)
	gcc -O3 -march=native -fopenmp -o $@ $< -lembree3 -lm

.PHONY: generate
generate: ## write generated code, the reference pages of docs again
	$(GO) generate ./...
