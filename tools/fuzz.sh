#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# fuzz.sh VENV [SECONDS]: every libFuzzer target for so long, as many at a time as there are cores.
set -eu
cd "$(dirname "$0")/.."
PATH="$(cd "$1/bin" && pwd):$PATH"
export PATH
seconds=${2:-60}

[ -d build-fuzz ] || CC=clang meson setup build-fuzz -Dfuzz=true -Db_lundef=false -Dbuildtype=debugoptimized >/dev/null
ninja -C build-fuzz fuzz >/dev/null

# What it says comes in one piece: others end at the same time.
fuzz_one() {
	local name log
	name=$(basename "$1")
	log=build-fuzz/log-$name
	if tests/fuzz/run.sh "$1" build-fuzz/tests/fuzz/seeds "$seconds" "build-fuzz/corpus-$name" >"$log" 2>&1; then
		printf '%s\nok  %s for %s s\n' "$(grep -E 'number_of_executed_units|new_units_added' "$log" || true)" "$name" "$seconds"
	else
		printf '%s\nFAILED  %s: all of it is in %s\n' "$(tail -n 60 "$log")" "$name" "$log" >&2
		return 1
	fi
}

found=0 running=0 status=0 cores=$(nproc)
for target in build-fuzz/tests/fuzz/fuzz_*; do
	[ -f "$target" ] && [ -x "$target" ] || continue
	if [ "$running" -ge "$cores" ]; then
		wait -n || status=1
		running=$((running - 1))
	fi
	fuzz_one "$target" &
	found=$((found + 1)) running=$((running + 1))
done
while [ "$running" -gt 0 ]; do
	wait -n || status=1
	running=$((running - 1))
done
[ "$found" -gt 0 ] || { echo "fuzz.sh: no fuzz target was built" >&2; exit 1; }
exit $status
