#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# free_threaded.sh [VERSION [thread-sanitizer]]: prints the path of a Python of that version (3.14 by default) without the GIL, or of one
# that ThreadSanitizer watches. Distributions have none, so it is built from the source package of one, once (about 5 minutes on 2 cores,
# 15 with ThreadSanitizer), in SPARTITO_CACHE (default: ~/.cache/spartito).
# Needs root and apt for the source and for what the build needs. If no mirror has the source or none answers, the status is 77.
set -eu
version=${1:-3.14}
cache=${SPARTITO_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/spartito}/pythons
prefix=$cache/python${version}t${2:+-$2}
python=$prefix/bin/python${version}t
if [ -x "$python" ]; then
	echo "$python"
	exit 0
fi
[ "$(id -u)" = 0 ] || { echo "$0: needs root" >&2; exit 1; }
mkdir -p "$cache"
log=$prefix.log
work=$(mktemp -d "$cache/build.XXXXXX")
trap 'rm -rf "$work"' EXIT

# the last ones are what pip and the tests need of the standard library
apt_install() { DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >>"$log" 2>&1; }
apt_install gcc make pkg-config xz-utils zlib1g-dev libssl-dev libffi-dev libbz2-dev liblzma-dev libsqlite3-dev ||
	{ tail -n 20 "$log" >&2; exit 1; }
# only for the mirror of the other distribution, and under another name there
apt_install debian-archive-keyring || true
apt_install ubuntu-keyring || apt_install ubuntu-archive-keyring || true

# Downloads the source from a suite with apt's own client, on lists of its own.
download() {
	local mirror=$1 suite=$2 components=$3 keyring=$4
	local lists=$work/lists-$suite
	mkdir -p "$lists/partial" "$work/source"
	local signed=signed-by=$keyring
	if [ ! -e "$keyring" ]; then
		echo "no keyring for $mirror, its source is not authenticated" >>"$log"
		signed=trusted=yes
	fi
	echo "deb-src [$signed] $mirror $suite $components" >"$work/$suite.list"
	local apt="-o Dir::Etc::SourceList=$work/$suite.list -o Dir::Etc::SourceParts=- -o Dir::State::Lists=$lists
		-o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o Acquire::Languages=none"
	apt-get $apt -qq update >>"$log" 2>&1 &&
		(cd "$work/source" && apt-get $apt -qq source --download-only --tar-only "python$version" >>"$log" 2>&1)
}
debian=/usr/share/keyrings/debian-archive-keyring.gpg ubuntu=/usr/share/keyrings/ubuntu-archive-keyring.gpg
download http://deb.debian.org/debian sid main $debian ||
	download http://archive.ubuntu.com/ubuntu resolute "main universe" $ubuntu ||
	download http://archive.ubuntu.com/ubuntu questing "main universe" $ubuntu ||
	download http://deb.debian.org/debian trixie main $debian ||
	{ echo "$0: no mirror has the source of Python $version, or none answers" >&2; exit 77; }

mkdir "$work/tree"
tar xf "$work/source"/*.orig.tar.* -C "$work/tree" --strip-components=1
cd "$work/tree"
export TSAN_OPTIONS=report_bugs=0 # the interpreter's own races are not the subject here
# without the optimizations of a release, which take half an hour
if ! { ./configure -q --prefix="$prefix" --disable-gil --disable-test-modules ${2:+--with-$2} && make -s -j"$(nproc)" && make -s install; } >>"$log" 2>&1; then
	tail -n 40 "$log" >&2
	exit 1
fi
echo "$python"
