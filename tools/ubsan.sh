#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# ubsan.sh LIBRARY…: builds libraries of src/inject in build-ubsan, under UndefinedBehaviorSanitizer alone. They are called before
# AddressSanitizer is ready, and a trap needs no library of a sanitizer (tests/sanitize/test_sanitized.py says how they go together).
set -eu
cd "$(dirname "$0")/.."
[ -d build-ubsan ] || meson setup build-ubsan -Db_lundef=false -Dbuildtype=debugoptimized -Dwheel=true \
	-Dauto_features=disabled -Dviewer=disabled "-Dc_args=-fsanitize=undefined -fsanitize-undefined-trap-on-error" >/dev/null
ninja -C build-ubsan "${@/#/src/inject/}" >/dev/null
