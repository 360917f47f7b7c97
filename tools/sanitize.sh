#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# sanitize.sh VENV: the C tests and a measured program under AddressSanitizer and UndefinedBehaviorSanitizer.
set -eu
cd "$(dirname "$0")/.."
bin=$(cd "$1/bin" && pwd)
export PATH="$bin:$PATH"
options="-Db_sanitize=address,undefined -Db_lundef=false -Dbuildtype=debugoptimized"

[ -d build-asan ] || meson setup build-asan $options >/dev/null
ninja -C build-asan >/dev/null
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
# Python keeps memory to its end on purpose; leaks of the C tests are found below without it
ASAN_OPTIONS=detect_leaks=1 meson test -C build-asan --suite c --print-errorlogs

# The installed package with the two extension modules of the sanitizer build in place of the optimised ones.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
site=$("$bin/python" -c 'import spartito, os; print(os.path.dirname(spartito.__file__))')
mkdir "$work/site"
cp -r "$site" "$work/site/spartito"
find build-asan -name '_measure*.so' -exec cp {} "$work/site/spartito/" \;
find build-asan -name '_analyse*.so' -exec cp {} "$work/site/spartito/" \;
asan=$(${CC:-cc} -print-file-name=libasan.so)
for program in generators threads exceptions fork tasks; do
	for hook in $("$bin/python" -c 'import spartito._measure as m; print(*(n for n, works, _ in m.hooks() if works))'); do
		ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD=$asan PYTHONPATH=$work/site PYTHONMALLOC=malloc \
			"$bin/python" -m spartito run -q --trace --hook "$hook" -o "$work/$program-$hook" -- \
			"$bin/python" "tests/programs/$program.py" >"$work/out" 2>"$work/err" || { cat "$work/out" "$work/err"; exit 1; }
		if grep -E 'AddressSanitizer|runtime error' "$work/out" "$work/err"; then exit 1; fi
		ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD=$asan PYTHONPATH=$work/site \
			"$bin/python" -m spartito report "$work/$program-$hook" >/dev/null 2>&1
		echo "ok  $program under $hook"
	done
done
# memory: the wrappers themselves come before the sanitizer is there, and are the plain ones
for options in "--memory-profile" "--memory-sample 2K"; do
	ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0 LD_PRELOAD=$asan PYTHONPATH=$work/site \
		"$bin/python" -m spartito run -q $options -o "$work/memory${options%% *}" -- \
		"$bin/python" tests/programs/threads.py >"$work/out" 2>"$work/err" || { cat "$work/out" "$work/err"; exit 1; }
	if grep -E 'AddressSanitizer|runtime error' "$work/out" "$work/err"; then exit 1; fi
	echo "ok  $options"
done
