# `make help` lists the targets.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# The folder of `make site` and `make size`.
DIST ?= dist

# Go's runner of wasm tests under Node. The program's environment is part of
# its 8 kB of arguments, so it gets only what it needs.
WASM_EXEC = env -i 'PATH=$$PATH' 'HOME=$$HOME' '$$(go env GOROOT)/lib/wasm/go_js_wasm_exec'

.PHONY: help
help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

.PHONY: run
run: ## build the site, serve it on localhost, print the address
	@go run ./web serve

.PHONY: test
test: fmt vet wasm browsers ## check everything: format, vet, the engine under Node, then all tests with real browsers
	go test -timeout 20m ./...

.PHONY: fmt
fmt: ## fail where gofmt would change a file
	@files=$$(git ls-files -co --exclude-standard '*.go' | xargs gofmt -l); \
	if [ -n "$$files" ]; then echo "gofmt -w $$files"; exit 1; fi

.PHONY: vet
vet: ## run go vet, for this machine and for the browser
	go vet ./... && go vet -tags cases ./calc
	GOOS=js GOARCH=wasm go vet ./wasm/... ./calc/... ./content ./web/view/... ./web/ui/...

.PHONY: wasm
wasm: ## run the engine's tests as WebAssembly under Node
	GOOS=js GOARCH=wasm go test -short -exec="$(WASM_EXEC)" ./calc/... ./content ./web/view/...

.PHONY: browsers
browsers: ## find the browsers that the tests drive, or install them on Debian as root
	@.ci/browsers

.PHONY: site
site: ## write the static site into dist
	rm -rf "$(DIST)"
	go run ./web build "$(DIST)"

.PHONY: single
single: site ## write the whole site in one file, dist/vrametre.html, with the rest

.PHONY: size
size: site ## report the site's sizes, and what each dependency costs in the wasm
	go run ./web size "$(DIST)"
