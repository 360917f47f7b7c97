#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# musl_python.sh [VERSION]: prints the path of a Python of that version (3.13 by default) that uses musl. It is built once (about 4 minutes on
# 2 free cores) in SPARTITO_CACHE (default: ~/.cache/spartito) from source packages of Debian: musl itself, Python, zlib, libffi, and the
# libraries that Spartito uses, except libdw, which needs functions that musl does not have. Without ssl, its pip installs only what is
# here. bin/musl-cc in its directory is a compiler for it. Needs root and apt. If no mirror has the source or none answers, the status is 77.
set -eu
tools=$(cd "$(dirname "$0")" && pwd)
. "$tools/debian_source.sh"
version=${1:-3.13}
build_once "pythons/python${version}-musl" "bin/python$version"

apt_install gcc g++ make pkg-config xz-utils linux-libc-dev debian-archive-keyring || { tail -n 20 "$log" >&2; exit 1; }
# download_any PACKAGE SUITE...: from the first suite that has it
download_any() {
	local package=$1 suite
	shift
	for suite; do
		if download "$debian_mirror" "$suite" main "$debian_keyring" "$package"; then return 0; fi
	done
	echo "$0: no mirror has the source of $package, or none answers" >&2
	exit 77
}
# the musl of Debian 12 cannot load libraries of wheels for musllinux_1_2: it does not know their relocations (RELR)
download_any musl trixie sid
download_any "python$version" trixie sid bookworm
# in newer suites one of these has no configure
for package in zlib libffi libzstd otf2; do download_any "$package" bookworm trixie sid; done

# Each part only if it is missing. Python comes last: if it is there, all is.
build() {
	if [ ! -e "$prefix/musl/bin/musl-gcc" ]; then
		cd "$(unpack musl)"
		# with the name that Alpine's has, which the tags of wheels permit
		LDFLAGS=-Wl,-soname,libc.musl-x86_64.so.1 ./configure --prefix="$prefix/musl" --syslibdir="$prefix/musl/lib" --enable-wrapper=gcc
		make -s -j"$(nproc)"
		make -s install
	fi
	CC=$("$tools/musl_cc.sh" "$prefix/bin" "$prefix/musl/bin/musl-gcc")
	export CC PKG_CONFIG_LIBDIR="$prefix/lib/pkgconfig"
	if [ ! -e "$prefix/lib/libz.so" ]; then
		cd "$(unpack zlib)"
		./configure --prefix="$prefix"
		make -s -j"$(nproc)"
		make -s install
	fi
	if [ ! -e "$prefix/lib/libffi.so" ]; then
		cd "$(unpack libffi)"
		./configure -q --prefix="$prefix" --disable-docs --disable-multi-os-directory
		make -s -j"$(nproc)"
		make -s install
	fi
	mkdir -p "$prefix/licences" # of what a wheel contains
	if [ ! -e "$prefix/licences/libzstd.txt" ]; then
		cd "$(unpack libzstd)"
		make -s -C lib -j"$(nproc)" PREFIX="$prefix" install
		cp LICENSE "$prefix/licences/libzstd.txt"
	fi
	if [ ! -e "$prefix/licences/libotf2.txt" ]; then
		cd "$(unpack otf2)"
		# its programs are C++, for which there is no library here, so they do not link: the library and its headers are enough
		./configure -q --prefix="$prefix" --build=x86_64-linux-musl --with-platform=disabled --disable-static --enable-shared \
			PYTHON=: CC="$CC" CXX=g++
		make -s -k -j"$(nproc)" || true
		make -s -k install || true
		[ -e "$prefix/lib/libotf2.so" ]
		cp COPYING "$prefix/licences/libotf2.txt"
	fi
	cd "$(unpack "python$version")"
	CPPFLAGS="-I$prefix/include" LDFLAGS="-L$prefix/lib -Wl,-rpath,$prefix/lib" ./configure -q --prefix="$prefix" --disable-test-modules
	make -s -j"$(nproc)"
	make -s install
}
# not in a condition, where the shell would go on after an error
set +e
(set -e; build) >>"$log" 2>&1
status=$?
set -e
[ "$status" = 0 ] || { tail -n 40 "$log" >&2; exit 1; }
echo "$made"
