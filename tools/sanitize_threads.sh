#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# sanitize_threads.sh VENV: the recorder without the GIL under ThreadSanitizer, in an interpreter that it watches as well, so that it knows
# the locks of both. For a night: the interpreter is built first (tools/free_threaded.sh). VENV has meson, pytest and Spartito.
set -eu
cd "$(dirname "$0")/.."
bin=$(cd "$1/bin" && pwd)
export PATH="$bin:$PATH"
python=$(tools/free_threaded.sh 3.14 thread-sanitizer)
setarch -R true 2>/dev/null || { echo "$0: ThreadSanitizer needs addresses that are not random (setarch -R)" >&2; exit 77; }
places() { python -c "import os, $1 as m; print(os.path.dirname(m.__file__))"; }

# meson is Python code alone: it runs in that interpreter, for which it builds, without a virtual environment there. For the races of the
# interpreter itself nobody looks here.
build() { TSAN_OPTIONS=report_bugs=0 PYTHONPATH=$(dirname "$(places mesonbuild)") setarch -R "$@"; }
[ -e build-threads/build.ninja ] || build "$python" -m mesonbuild.mesonmain setup build-threads -Db_sanitize=thread -Db_lundef=false \
	-Dbuildtype=debugoptimized -Dviewer=disabled >/dev/null
modules=$(ninja -C build-threads -t targets all | sed -n 's/^\(src\/.*\/_[a-z]*\.cpython.*\.so\): .*/\1/p')
build ninja -C build-threads $modules >build-threads/log || { tail -n 40 build-threads/log >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/site"
cp -r "$(places spartito)" "$work/site/spartito"
rm "$work"/site/spartito/*.so
find build-threads/src -name '_*.so' -exec cp {} "$work/site/spartito/" \;
SANITIZED_SITE=$work/site SANITIZED_PYTHON=$python SANITIZED_LIBRARY='' python -m pytest -q -p no:cacheprovider \
	-o "pythonpath=tests/py tests/py/helpers" tests/sanitize/test_races.py
