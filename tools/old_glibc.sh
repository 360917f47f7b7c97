#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# old_glibc.sh [x86_64|aarch64]: prints the path of a compiler for which wheels install on older systems than this one, such as RHEL 8
# and SLES 15 (tools/wheels.py). Beside it is PACKAGES, a list with the package of each file. They are in a sysroot of Debian 11 with
# glibc 2.31 and the libraries that Spartito uses. What the compiler makes needs glibc 2.28. It is made once, from packages of Debian and
# from the source of OTF2, in SPARTITO_CACHE (default: ~/.cache/spartito); a copy of the directory works elsewhere. It is for this
# processor by default; for the other one it has a cross compiler, and the kernel must run programs of it by qemu-user.
# Needs root and apt. If no mirror has Debian 11 or none answers, and on other processors than these, the status is 77.
set -eu
. "$(dirname "$0")/debian_source.sh"
machine=${1:-$(uname -m)} cross=
case $machine in
# oldest: the version of the C library's first functions on this processor
x86_64) deb_arch=amd64 oldest=GLIBC_2.2.5 name=glibc2.31 ;;
aarch64) deb_arch=arm64 oldest=GLIBC_2.17 name=glibc2.31-aarch64 ;;
*) echo "$0: needs x86-64 or ARM64" >&2 && exit 77 ;;
esac
triplet=$machine-linux-gnu
[ "$machine" = "$(uname -m)" ] || cross=$triplet-
headers=
[ -z "$cross" ] || headers="-isystem \"\$here/usr/include/$triplet\" -isystem \"\$here/usr/include\""
build_once "sysroots/$name" cc

packages="libc6 libc6-dev libcrypt1 libcrypt-dev linux-libc-dev libdw1 libdw-dev libelf1 libelf-dev libzstd1 libzstd-dev zlib1g zlib1g-dev
	liblzma5 liblzma-dev libbz2-1.0"
compilers="gcc g++"
[ -z "$cross" ] || compilers="gcc-${triplet//_/-} g++-${triplet//_/-}"
apt_install $compilers make pkg-config xz-utils debian-archive-keyring || { tail -n 20 "$log" >&2; exit 1; }
download_packages "$debian_mirror" bullseye main "$debian_keyring" $packages && { download "$debian_mirror" bookworm main "$debian_keyring" otf2 ||
	download "$debian_mirror" trixie main "$debian_keyring" otf2; } ||
	{ echo "$0: no mirror has the packages of Debian 11, or none answers" >&2; exit 77; }

root=$work/root
mkdir -p "$root"
for file in "$work"/packages/*.deb; do
	name=$(dpkg-deb -f "$file" Package)
	dpkg-deb -x "$file" "$root"
	dpkg-deb --fsys-tarfile "$file" | tar -t | sed -n "s|^\./\(.*[^/]\)\$|$name \1|p" >>"$work/PACKAGES"
done
# links and files that name places from the root of a system
find "$root" -type l -lname '/*' -printf '%p %l\n' | while read -r link to; do ln -sfr "$root$to" "$link"; done
# without it for libdir, meson would link the libraries of this system
sed -i -e 's|^prefix=/usr|prefix=${pcfiledir}/../../..|' -e 's|^libdir=/usr|libdir=${prefix}|' "$root"/usr/lib/*/pkgconfig/*.pc
rm -rf "$prefix"
mv "$root" "$prefix"
# glibc 2.29 has new versions of these functions, whose only difference is that they do not call the program's matherr()
cat >"$prefix/older.h" <<EOF
#ifndef __ASSEMBLER__
__asm__(".symver exp, exp@$oldest\n\t.symver log, log@$oldest\n\t.symver pow, pow@$oldest");
#endif
EOF
# -B and -isystem: before the directories in which the compiler was installed, where it finds the newer C library; a cross compiler
# looks for headers in its own directory first
cat >"$prefix/cc.new" <<EOF
#!/bin/sh
here=\${0%/*}
exec ${cross}gcc "--sysroot=\$here" "-B\$here/usr/lib/$triplet" $headers -include "\$here/older.h" "\$@"
EOF
chmod +x "$prefix/cc.new"

cd "$(unpack otf2)"
# Its configure passes no --host to those of its parts. So it builds as if this were the other processor, and qemu-user runs what it
# tries, with the C library of the cross compiler.
if [ -n "$cross" ]; then
	for file in $(find . -name config.guess); do printf '#!/bin/sh\necho %s\n' "$machine-unknown-linux-gnu" >"$file"; done
	export QEMU_LD_PREFIX=/usr/$triplet AR="${cross}ar" NM="${cross}nm" RANLIB="${cross}ranlib" STRIP="${cross}strip"
fi
if ! { ./configure -q --prefix="$prefix/usr" --libdir="$prefix/usr/lib/$triplet" --with-platform=disabled --disable-static --enable-shared \
	PYTHON=: CC="$prefix/cc.new" CXX="${cross}g++" && make -s -j"$(nproc)" && make -s install; } >>"$log" 2>&1; then
	tail -n 40 "$log" >&2
	exit 1
fi
sed -i "s|$prefix/usr|\${pcfiledir}/../../..|" "$prefix/usr/lib/$triplet"/pkgconfig/otf2*.pc
mkdir -p "$prefix/usr/share/doc/libotf2"
cp COPYING "$prefix/usr/share/doc/libotf2/copyright"
(cd "$prefix" && find usr/lib -name 'libotf2.so*' -printf 'libotf2 %p\n') >>"$work/PACKAGES"
mv "$work/PACKAGES" "$prefix"
mv "$prefix/cc.new" "$made" # last: now all is there
echo "$made"
