#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# fuzz.sh VENV [SECONDS]: every libFuzzer target for so long, as many at a time as there are cores; then as long what verbs make of damaged
# experiments (tests/fuzz/fuzz_results.py).
set -eu
cd "$(dirname "$0")/.."
PATH="$(cd "$1/bin" && pwd):$PATH"
export PATH
seconds=${2:-60}

[ -d build-fuzz ] || CC=clang meson setup build-fuzz -Dfuzz=true -Db_lundef=false -Dbuildtype=debugoptimized >/dev/null
ninja -C build-fuzz fuzz >build-fuzz/log-build || { tail -n 60 build-fuzz/log-build >&2; exit 1; }

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

# Reports and formats, made by a library that AddressSanitizer and UndefinedBehaviorSanitizer watch; the experiments are recorded without. The
# build directory is that of sanitize.sh.
fuzz_results() {
	local work site module
	[ -d build-asan ] ||
		meson setup build-asan -Db_sanitize=address,undefined -Db_lundef=false -Dbuildtype=debugoptimized >/dev/null || return 1
	module=src/analyse/_analyse$(python -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')
	ninja -C build-asan "$module" >build-fuzz/log-build || { tail -n 60 build-fuzz/log-build >&2; return 1; }
	work=$(mktemp -d)
	site=$(python -c 'import spartito, os; print(os.path.dirname(spartito.__file__))')
	cp -r "$site" "$work/spartito"
	cp "build-asan/$module" "$work/spartito/"
	local watched=halt_on_error=1:exitcode=97
	LD_PRELOAD=$(${CC:-cc} -print-file-name=libasan.so) PYTHONPATH=$work \
		ASAN_OPTIONS=$watched:detect_leaks=0:verify_asan_link_order=0:quarantine_size_mb=16:allocator_may_return_null=1 \
		UBSAN_OPTIONS=$watched:print_stacktrace=1 \
		python tests/fuzz/fuzz_results.py --seconds "$seconds" --jobs "$cores" --seed "${SEED:-$RANDOM}" --keep build-fuzz || status=1
	rm -rf "$work"
}
fuzz_results || status=1

[ "$found" -gt 0 ] || { echo "fuzz.sh: no fuzz target was built" >&2; exit 1; }
exit $status
