#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# sanitize.sh VENV: the C tests and measured programs under AddressSanitizer and UndefinedBehaviorSanitizer; those with
# threads under ThreadSanitizer, too.
set -eu
cd "$(dirname "$0")/.."
bin=$(cd "$1/bin" && pwd)
export PATH="$bin:$PATH"
options="-Db_sanitize=address,undefined -Db_lundef=false -Dbuildtype=debugoptimized"

[ -d build-asan ] || meson setup build-asan $options >/dev/null
ninja -C build-asan sanitized >/dev/null
tools/ubsan.sh spartito_heap.so
UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 ASAN_OPTIONS=detect_leaks=1 meson test -C build-asan --suite c --print-errorlogs

# The installed package with the libraries of the sanitizer builds in place of the optimised ones.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
site=$("$bin/python" -c 'import spartito, os; print(os.path.dirname(spartito.__file__))')
mkdir "$work/site"
cp -r "$site" "$work/site/spartito"
for name in '_measure*' '_analyse*' '_sample*' spartito_waits spartito_preload; do
	find build-asan -name "$name.so" -exec cp {} "$work/site/spartito/" \;
done
cp build-ubsan/src/inject/spartito_heap.so "$work/site/spartito/"
asan=$(${CC:-cc} -print-file-name=libasan.so)
SANITIZED_SITE=$work/site SANITIZED_ASAN=$asan "$bin/python" -m pytest -q -n "$(nproc)" -p no:cacheprovider -o "pythonpath=tests/py tests/py/helpers" tests/sanitize/test_sanitized.py

# ThreadSanitizer needs addresses that are not random.
if ! setarch -R true 2>/dev/null; then
	echo "ThreadSanitizer: not run, addresses are random here (setarch -R is forbidden)"
	exit 0
fi
[ -d build-tsan ] || meson setup build-tsan -Db_sanitize=thread -Db_lundef=false -Dbuildtype=debugoptimized >/dev/null
ninja -C build-tsan threaded >/dev/null
meson test -C build-tsan --suite threads --wrapper "setarch -R" --print-errorlogs
rm -rf "$work/site/spartito"
cp -r "$site" "$work/site/spartito"
find build-tsan -name '_measure*.so' -exec cp {} "$work/site/spartito/" \;
tsan=$(${CC:-cc} -print-file-name=libtsan.so)
SANITIZED_SITE=$work/site SANITIZED_LIBRARY=$tsan "$bin/python" -m pytest -q -n "$(nproc)" -p no:cacheprovider -o "pythonpath=tests/py tests/py/helpers" tests/sanitize/test_races.py
