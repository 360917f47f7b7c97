#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# lint.sh VENV: every linter once; the status is 1 when one of them found something.
set -u
cd "$(dirname "$0")/.."
bin=$(cd "$1/bin" && pwd)
export PATH="$bin:$PATH"

# Each by itself and all at once; what one says comes in one piece.
check() {
	local log=$work/$BASHPID
	if "$@" >"$log" 2>&1; then echo "ok      $1 $2"; else
		printf 'FAILED  %s\n%s\n' "$*" "$(tail -n 60 "$log")"
		touch "$work/failed"
	fi
}

with_warnings() {
	CC="${CC:-cc}" meson setup --wipe build-lint -Dwerror=true -Dwarning_level=2 -Dbuildtype=debugoptimized && ninja -C build-lint
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
check with_warnings build-lint &
check ruff check . &
check python tools/language.py &
NO_MKDOCS_2_WARNING=1 check mkdocs build --strict --quiet &
check clang-format --dry-run -Werror $(git ls-files '*.c' '*.h' ':!bench/hooks') &
# one after the other: they share a cache
{
	check mypy --strict python/spartito
	check mypy --strict dropin/scorep dropin/scorep_jupyter dropin/omnitrace dropin/kernprof dropin/line_profiler dropin/backend.py
} &
wait
[ ! -e "$work/failed" ]
