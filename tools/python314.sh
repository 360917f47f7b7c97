#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# python314.sh [prepare]: runs tests/py/test_programs.py under Debian's Python 3.14, in a chroot of the newer suite that has it; or
# makes the chroot only. Needs root and debootstrap. The mirror is the one that this system's own apt uses. The chroot is kept in SPARTITO_CACHE
# (default: ~/.cache/spartito).
set -eu
cd "$(dirname "$0")/.."
root=$PWD
cache=${SPARTITO_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/spartito}
chroot_dir=$cache/python3.14
packages=python3.14,python3.14-dev,python3.14-venv,gcc,libc6-dev,pkg-config,libdw-dev,libotf2-trace-dev,libzstd-dev,zlib1g-dev,otf2-tools,ca-certificates

[ "$(id -u)" = 0 ] || { echo "$0: needs root" >&2; exit 1; }
if ! command -v debootstrap >/dev/null; then
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends debootstrap >/dev/null
fi
# The first "Origin: Debian" main repository that apt knows; a system without one (Ubuntu) has no Debian mirror to ask.
mirror=$(apt-get indextargets --format '$(ORIGIN)|$(COMPONENT)|$(REPO_URI)|$(CODENAME)' 'Created-By: Packages' |
	awk -F'|' '$1 == "Debian" && $2 == "main" && $4 !~ /security/ { print $3; exit }')
[ -n "$mirror" ] || { echo "$0: apt knows no Debian mirror" >&2; exit 1; }

# Whether a suite of the mirror has the package, asked with apt's own client on lists of its own.
has_python() {
	mkdir -p "$cache/apt/lists/partial"
	echo "deb $mirror $1 main" >"$cache/apt/sources.list"
	local apt="-o Dir::Etc::SourceList=$cache/apt/sources.list -o Dir::Etc::SourceParts=- -o Dir::State::Lists=$cache/apt/lists
		-o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o Acquire::Languages=none"
	apt-get $apt -qq update >/dev/null 2>&1 && [ -n "$(apt-cache $apt show python3.14-dev 2>/dev/null)" ]
}

if [ ! -e "$chroot_dir/.ready" ]; then
	suite=
	for s in trixie forky sid; do
		if has_python $s; then suite=$s; break; fi
	done
	[ -n "$suite" ] || { echo "$0: no suite of $mirror has Python 3.14" >&2; exit 1; }
	rm -rf "$chroot_dir"
	# the script of sid serves every newer suite, also those that this debootstrap does not know by name
	debootstrap --variant=minbase --include="$packages" "$suite" "$chroot_dir" "$mirror" \
		/usr/share/debootstrap/scripts/sid >"$cache/debootstrap.log" 2>&1 || { tail -n 20 "$cache/debootstrap.log" >&2; exit 1; }
	touch "$chroot_dir/.ready"
fi
[ "${1:-}" != prepare ] || exit 0

copy=$chroot_dir/src
rm -rf "$copy"
mkdir -p "$copy"
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$copy" 2>/dev/null || true
cp /etc/resolv.conf "$chroot_dir/etc/resolv.conf"
# pip's own settings of this machine (a mirror, a certificate) hold inside too
for file in /etc/pip.conf "$HOME/.config/pip/pip.conf" "$HOME/.pip/pip.conf"; do
	if [ -e "$file" ]; then cp "$file" "$chroot_dir/etc/pip.conf"; fi
done
if [ -e /etc/ssl/certs/ca-certificates.crt ]; then
	cp /etc/ssl/certs/ca-certificates.crt "$chroot_dir/etc/ssl/certs/ca-certificates.crt"
fi
mounted=
unmount() { for m in $mounted; do umount "$chroot_dir/$m" 2>/dev/null || umount -l "$chroot_dir/$m"; done; }
trap unmount EXIT
for m in proc dev dev/shm; do
	if mountpoint -q "/$m" && ! mountpoint -q "$chroot_dir/$m"; then
		mkdir -p "$chroot_dir/$m"
		mount --bind "/$m" "$chroot_dir/$m" 2>/dev/null && mounted="$m $mounted"
	fi
done
chroot "$chroot_dir" /bin/sh -c 'cd /src && tools/venv.sh python3.14 /var/tmp/venv programs &&
	/var/tmp/venv/bin/python -m pytest -q -n "$(nproc)" -p no:cacheprovider tests/py/test_programs.py'
