#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# fuzz.sh VENV [SECONDS]: every libFuzzer target for so long.
set -eu
cd "$(dirname "$0")/.."
PATH="$(cd "$1/bin" && pwd):$PATH"
export PATH
seconds=${2:-60}

[ -d build-fuzz ] || CC=clang meson setup build-fuzz -Dfuzz=true -Db_lundef=false -Dbuildtype=debugoptimized >/dev/null
ninja -C build-fuzz >/dev/null
found=0
for target in build-fuzz/tests/fuzz/fuzz_*; do
	[ -f "$target" ] && [ -x "$target" ] || continue
	found=$((found + 1))
	tests/fuzz/run.sh "$target" build-fuzz/tests/fuzz/seeds "$seconds" "build-fuzz/corpus-$(basename "$target")" \
		>build-fuzz/log 2>&1 || { tail -n 60 build-fuzz/log >&2; exit 1; }
	grep -E "number_of_executed_units|new_units_added" build-fuzz/log || true
	echo "ok  $(basename "$target") for $seconds s"
done
[ "$found" -gt 0 ] || { echo "fuzz.sh: no fuzz target was built" >&2; exit 1; }
