#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# musl_c.sh VENV: compiles all C for musl, with warnings as errors and without the optional libraries, and runs the C tests. If musl is not
# here and cannot be installed, the status is 77.
set -eu
cd "$(dirname "$0")/.."
venv=$(cd "$1" && pwd)
export PATH="$venv/bin:$PATH"
CC=$(tools/musl_cc.sh build-musl/compiler)
export CC
if command -v ccache >/dev/null; then CC="ccache $CC"; fi
export CCACHE_COMPILERCHECK=content # musl-cc is written again each time
# MPI is here for the other C library only
mkdir -p build-musl/without
for name in mpicc mpicc.openmpi mpicc.mpich; do ln -sf /bin/false "build-musl/without/$name"; done
export PATH="$PWD/build-musl/without:$PATH"
none="-Dotf2=disabled -Dzstd=disabled -Dzlib=disabled -Ddw=disabled -Dviewer=disabled"
if [ ! -e build-musl/out/build.ninja ]; then
	meson setup build-musl/out --werror -Dbuildtype=debugoptimized $none >build-musl/setup.log ||
		{ cat build-musl/setup.log >&2; exit 1; }
fi
ninja -C build-musl/out --quiet
meson test -C build-musl/out --suite c --print-errorlogs --quiet
