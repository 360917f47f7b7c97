#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# sanitize_all.sh PYTHON [ARGUMENTS of pytest]: all Python tests, with every library of Spartito, and every process of Python, under
# AddressSanitizer and UndefinedBehaviorSanitizer. For a night: CONTRIBUTING.md says how long it takes. What cannot run so is listed in
# tests/sanitize/unsuitable.py.
set -eu
cd "$(dirname "$0")/.."
python=$1
shift
venv=.venvs/sanitized build=build-all reports=$PWD/build-all/reports

# An interpreter that is linked to AddressSanitizer's library, and a virtual environment of it. libstdc++: AddressSanitizer wraps functions
# of its, which it does not find where that is loaded later.
flags=$("$python" - <<-'PY'
	import sys, sysconfig
	v = sysconfig.get_config_var
	if not v("Py_ENABLE_SHARED"):
	    sys.exit(f"{sys.executable} has no libpython as a shared library: choose another one with PYTHON=…")
	print("-I" + sysconfig.get_path("include"), "-L" + v("LIBDIR"), "-Wl,-rpath," + v("LIBDIR"), "-lpython" + v("LDVERSION"))
PY
)
name=$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
mkdir -p "$build/interpreter"
${CC:-cc} -fsanitize=address -g -O1 "-DREPORTS=\"$reports/report\"" tests/sanitize/interpreter.c -rdynamic $flags \
	-Wl,--no-as-needed -lstdc++ -o "$build/interpreter/$name"
tools/venv.sh "$build/interpreter/$name" "$venv" test notebook lab frameworks viewers guides
PATH="$PWD/$venv/bin:$PATH"
site=$(python -c 'import spartito, os; print(os.path.dirname(spartito.__file__))')

# UndefinedBehaviorSanitizer needs no library where it traps: AddressSanitizer reports its SIGILL.
[ -e $build/build.ninja ] || meson setup $build -Db_sanitize=address -Db_lundef=false -Dbuildtype=debugoptimized \
	"-Dc_args=-fsanitize=undefined -fsanitize-undefined-trap-on-error" >/dev/null
ninja -C $build $(ninja -C $build -t targets all | sed -n 's/^\(src\/.*\.so\): .*/\1/p') >/dev/null
tools/ubsan.sh spartito_{heap,waits,preload}.so
for library in $(cd "$site" && echo *.so); do
	case $library in
	spartito_heap.so | spartito_waits.so | spartito_preload.so) from=build-ubsan ;;
	*) from=$build ;;
	esac
	cp "$(find "$from/src" -name "$library")" "$site/"
done

rm -rf "$reports"
mkdir "$reports"
# What all of it relies on: a fault ends the process, and is seen where nobody reads its standard error.
if PYTHONMALLOC=malloc python -c "import ctypes; ctypes.memset(ctypes.create_string_buffer(1000), 0, 2000)" 2>/dev/null ||
	! grep -q heap-buffer-overflow "$reports"/*; then
	echo "$0: AddressSanitizer misses a fault that was made on purpose" >&2
	exit 1
fi
rm "$reports"/*
status=0
python -m pytest -q -n "$(nproc)" -p no:cacheprovider -p unsuitable -o timeout=1200 \
	-o "pythonpath=tests/sanitize tests/py tests/py/helpers" "$@" || status=$?
# A file may have nothing but the news that a program asked for more memory than there is.
count=0
for report in "$reports"/*; do
	grep -qsv "WARNING: AddressSanitizer failed to allocate" "$report" || continue
	head -n 40 "$report"
	count=$((count + 1)) status=1
done
echo "$count reports of sanitizers in $reports"
exit $status
