#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# fuzz.sh VENV [SECONDS]: every libFuzzer target for so long.
set -eu
cd "$(dirname "$0")/.."
export PATH="$PWD/$1/bin:$PATH"
seconds=${2:-60}

[ -d build-fuzz ] || CC=clang meson setup build-fuzz -Dfuzz=true -Db_lundef=false -Dbuildtype=debugoptimized >/dev/null
ninja -C build-fuzz >/dev/null
found=0
for target in build-fuzz/tests/fuzz/fuzz_*; do
	[ -f "$target" ] && [ -x "$target" ] || continue
	found=$((found + 1))
	name=$(basename "$target")
	mkdir -p "build-fuzz/corpus/$name"
	"$target" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=20 -verbosity=0 -print_final_stats=1 \
		-artifact_prefix="build-fuzz/$name-" "build-fuzz/corpus/$name" tests/old-raw 2>&1 | grep -v INFO | tail -n 30
	echo "ok  $name"
done
[ "$found" -gt 0 ] || { echo "fuzz.sh: no fuzz target was built" >&2; exit 1; }
