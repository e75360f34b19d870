# Front door: `make help`.
MESON ?= $(shell test -x /usr/bin/meson && echo /usr/bin/meson || echo meson)
BUILD ?= build

build: ## build the program at build/wattgate
	@test -f $(BUILD)/build.ninja || $(MESON) setup $(BUILD) >/dev/null
	@ninja -C $(BUILD)
.PHONY: build
