# SPDX-License-Identifier: BSD-3-Clause
# Each target sets up what it needs (tools/system.sh, tools/venv.sh). PYTHON=… chooses another interpreter.
PYTHON ?= python3
VENV ?= .venv
PY = $(VENV)/bin/python
export PYTHON

.PHONY: demo test bench lint sanitize sanitize-all sanitize-threads fuzz setup docs wheels picture clean

demo: setup
	$(PY) tools/demo.py

test:
	tools/system.sh build test
	tools/venv.sh $(PYTHON) $(VENV) test notebook lab frameworks viewers guides
	$(PY) tools/test.py $(if $(ONLY),--only $(ONLY)) $(if $(FULL),--full)

bench:
	tools/system.sh build test
	tools/venv.sh $(PYTHON) $(VENV) test
	$(PY) bench/run.py $(if $(QUICK),--quick)

lint:
	tools/system.sh build lint
	tools/venv.sh $(PYTHON) $(VENV) test lint docs
	tools/lint.sh $(VENV)

sanitize:
	tools/system.sh build
	tools/venv.sh $(PYTHON) $(VENV) test
	tools/sanitize.sh $(VENV)

sanitize-all:
	tools/system.sh build test
	tools/sanitize_all.sh $(PYTHON)

sanitize-threads:
	tools/system.sh build
	tools/venv.sh $(PYTHON) $(VENV) test
	tools/sanitize_threads.sh $(VENV)

fuzz:
	tools/system.sh build lint
	tools/venv.sh $(PYTHON) $(VENV) test
	tools/fuzz.sh $(VENV) $(or $(SECONDS),60)

setup:
	tools/system.sh build
	tools/venv.sh $(PYTHON) $(VENV) demo

docs:
	tools/system.sh build
	tools/venv.sh $(PYTHON) $(VENV) docs
	$(PY) python/generate.py markdown > docs/commands.md
	$(PY) python/generate.py settings > docs/configuration.md
	$(PY) python/generate.py kinds
	$(PY) tools/api_page.py > docs/api.md
	cd viewer && npm run contract
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict --quiet

wheels:
	tools/system.sh build test
	tools/venv.sh $(PYTHON) $(VENV) wheels
	$(PY) tools/wheels.py $(if $(ONLY),--only $(ONLY))
	$(if $(ONLY),,tools/musl_wheel.sh || [ $$? = 77 ])

picture:
	tools/system.sh build test
	tools/venv.sh $(PYTHON) $(VENV) demo test notebook lab
	$(PY) tools/picture.py
	$(PY) tools/picture_viewer.py
	$(PY) tools/picture_notebook.py

clean:
	rm -rf build build-* .venv .venvs dist spartito-demo-*
