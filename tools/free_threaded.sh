#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# free_threaded.sh [VERSION [thread-sanitizer]]: prints the path of a Python of that version (3.14 by default) without the GIL, or of one
# that ThreadSanitizer watches. Distributions have none, so it is built from the source package of one, once (about 5 minutes on 2 cores,
# 15 with ThreadSanitizer), in SPARTITO_CACHE (default: ~/.cache/spartito).
# Needs root and apt for the source and for what the build needs. If no mirror has the source or none answers, the status is 77.
set -eu
. "$(dirname "$0")/debian_source.sh"
version=${1:-3.14}
build_once "pythons/python${version}t${2:+-$2}" "bin/python${version}t"

# the last ones are what pip and the tests need of the standard library
apt_install gcc make pkg-config xz-utils zlib1g-dev libssl-dev libffi-dev libbz2-dev liblzma-dev libsqlite3-dev ||
	{ tail -n 20 "$log" >&2; exit 1; }
# only for the mirror of the other distribution, and under another name there
apt_install debian-archive-keyring || true
apt_install ubuntu-keyring || apt_install ubuntu-archive-keyring || true

ubuntu=/usr/share/keyrings/ubuntu-archive-keyring.gpg package=python$version
download "$debian_mirror" sid main "$debian_keyring" "$package" ||
	download http://archive.ubuntu.com/ubuntu resolute "main universe" $ubuntu "$package" ||
	download http://archive.ubuntu.com/ubuntu questing "main universe" $ubuntu "$package" ||
	download "$debian_mirror" trixie main "$debian_keyring" "$package" ||
	{ echo "$0: no mirror has the source of Python $version, or none answers" >&2; exit 77; }

cd "$(unpack "$package")"
export TSAN_OPTIONS=report_bugs=0 # the interpreter's own races are not the subject here
# without the optimizations of a release, which take half an hour
if ! { ./configure -q --prefix="$prefix" --disable-gil --disable-test-modules ${2:+--with-$2} && make -s -j"$(nproc)" && make -s install; } >>"$log" 2>&1; then
	tail -n 40 "$log" >&2
	exit 1
fi
echo "$made"
