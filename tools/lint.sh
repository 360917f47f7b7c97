#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# lint.sh VENV: every linter once; the status is 1 when one of them found something.
set -u
cd "$(dirname "$0")/.."
bin=$(cd "$1/bin" && pwd) status=0
export PATH="$bin:$PATH"

check() {
	if "$@" >build-lint.log 2>&1; then echo "ok      $1 $2"; else
		status=1
		echo "FAILED  $*"
		tail -n 60 build-lint.log
	fi
	rm -f build-lint.log
}

check ruff check .
check mypy --strict python/spartito
check mypy --strict dropin/scorep dropin/scorep_jupyter dropin/omnitrace dropin/kernprof dropin/line_profiler dropin/backend.py
check clang-format --dry-run -Werror $(git ls-files '*.c' '*.h' ':!bench/hooks')
check env CC="${CC:-cc}" meson setup --wipe build-lint -Dwerror=true -Dwarning_level=2 -Dbuildtype=debugoptimized
check ninja -C build-lint
exit $status
