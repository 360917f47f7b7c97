#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# sanitize.sh VENV: the C tests and measured programs under AddressSanitizer and UndefinedBehaviorSanitizer.
set -eu
cd "$(dirname "$0")/.."
bin=$(cd "$1/bin" && pwd)
export PATH="$bin:$PATH"
options="-Db_sanitize=address,undefined -Db_lundef=false -Dbuildtype=debugoptimized"

[ -d build-asan ] || meson setup build-asan $options >/dev/null
ninja -C build-asan >/dev/null
# The wrappers of malloc are called before AddressSanitizer is ready, so they have the other one alone, which needs no library where it traps:
# tests/sanitize/test_sanitized.py says how they go together.
if [ ! -d build-ubsan ]; then
	meson setup build-ubsan -Db_lundef=false -Dbuildtype=debugoptimized -Dauto_features=disabled -Dwheel=true \
		"-Dc_args=-fsanitize=undefined -fsanitize-undefined-trap-on-error" >/dev/null
fi
ninja -C build-ubsan src/spartito_heap.so >/dev/null
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
# Python keeps memory to its end on purpose; leaks of the C tests are found below without it
ASAN_OPTIONS=detect_leaks=1 meson test -C build-asan --suite c --print-errorlogs

# The installed package with the libraries of the sanitizer builds in place of the optimised ones.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
site=$("$bin/python" -c 'import spartito, os; print(os.path.dirname(spartito.__file__))')
mkdir "$work/site"
cp -r "$site" "$work/site/spartito"
for name in '_measure*' '_analyse*' '_sample*' spartito_waits spartito_preload; do
	find build-asan -name "$name.so" -exec cp {} "$work/site/spartito/" \;
done
cp build-ubsan/src/spartito_heap.so "$work/site/spartito/"
asan=$(${CC:-cc} -print-file-name=libasan.so)
# In files of their own: standard error of some processes is read by nobody.
export ASAN_OPTIONS=detect_leaks=0:log_path=$work/report
for program in generators threads exceptions fork tasks; do
	for hook in $("$bin/python" -c 'import spartito._measure as m; print(*(n for n, works, _ in m.hooks() if works))'); do
		LD_PRELOAD=$asan PYTHONPATH=$work/site PYTHONMALLOC=malloc \
			"$bin/python" -m spartito run -q --trace --hook "$hook" -o "$work/$program-$hook" -- \
			"$bin/python" "tests/programs/$program.py" >"$work/out" 2>&1 || { cat "$work/out" "$work"/report*; exit 1; }
		LD_PRELOAD=$asan PYTHONPATH=$work/site "$bin/python" -m spartito report "$work/$program-$hook" >"$work/out" 2>&1 ||
			{ cat "$work/out" "$work"/report*; exit 1; }
		if cat "$work"/report* 2>/dev/null || grep 'runtime error' "$work/out"; then exit 1; fi
		echo "ok  $program under $hook"
	done
done
# samples, memory, waits and file I/O, of a program that does something of everything
SANITIZED_SITE=$work/site SANITIZED_ASAN=$asan "$bin/python" -m pytest -q -x -p no:cacheprovider -o pythonpath=tests/py tests/sanitize
