#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# musl_wheel.sh [VERSION]: a wheel for musllinux in dist/, for the Python of tools/musl_python.sh with that version (3.13 by default, the
# only one that was tried). The libraries that Spartito uses are in it, with their licences, and so is the page of the viewer, but MPI is
# not. It is tried in a new virtual environment.
# As a user without root's rights, or on another processor than x86-64, it is not made: the status is 77.
set -eu
cd "$(dirname "$0")/.."
if [ "$(id -u)" != 0 ] || [ "$(uname -m)" != x86_64 ]; then
	echo "$0: no wheel for musllinux: its Python is built by root on x86-64"
	exit 77
fi
version=${1:-3.13}
tools/viewer.sh
SPARTITO_MUSL_PYTHON=$version tools/musl_tests.sh --version >/dev/null # makes the environment
venv=$PWD/.venvs/musl-$version
python=$(tools/musl_python.sh "$version")
prefix=$(dirname "$(dirname "$python")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PATH="$venv/first:$venv/bin:$PATH" CC="$prefix/bin/musl-cc" PKG_CONFIG_LIBDIR="$prefix/lib/pkgconfig"
CFLAGS="-I$prefix/include" LDFLAGS="-L$prefix/lib -Wl,-rpath,$prefix/lib" pip wheel -q --no-index --no-build-isolation --no-deps \
	"--config-settings=build-dir=$venv/build" --config-settings=setup-args=-Dviewer=enabled -w "$work/raw" .
# auditwheel looks for libraries where the linker of its own Python does
python -m auditwheel -v repair --ldpaths "$prefix/lib:$prefix/musl/lib" -w "$work/repaired" "$work"/raw/*.whl >"$work/log" 2>&1 ||
	{ tail -n 40 "$work/log" >&2; exit 1; }
python -m wheel unpack -d "$work/inside" "$work"/repaired/*.whl >/dev/null
if ls "$work"/inside/*/spartito.libs/libc[.-]* >/dev/null 2>&1; then
	echo "$0: the wheel has a C library in it" >&2
	exit 1
fi
info=$(echo "$work"/inside/*/*.dist-info)
mkdir -p dist "$info/licenses/libraries"
cp "$prefix"/licences/* "$info/licenses/libraries"
python -m wheel pack -d dist "$work"/inside/* >/dev/null
wheel=$(ls -t dist/*-cp"${version/./}"-*musllinux*.whl | head -n 1)

"$python" -m venv "$work/venv"
"$work/venv/bin/pip" install -q --no-index --find-links "$venv/packages" "$wheel"
cat >"$work/program.py" <<'EOF'
def leaf(i): return i + 1
for i in range(1000): leaf(i)
EOF
# without a compiler or any other program
try() { (cd "$work" && PATH='' "$work/venv/bin/python" -m spartito "$@"); }
try run -q --trace --waits --io --memory-profile --lines=leaf -o e -- "$work/venv/bin/python" program.py
formats=$(try doctor --formats)
for format in $formats; do try convert e --to "$format" -o "out.$format" >/dev/null; done
try html e -o page.html >/dev/null
echo "$wheel, tried:" $formats
