# SPDX-License-Identifier: BSD-3-Clause
# For scripts that make something from packages of a distribution, most of them an interpreter from its source; they source this file.

# Sets prefix and made: a directory in SPARTITO_CACHE, such as pythons/python3.14t, and the path of a file in it, which is there when all
# is. If it is there, prints the path and ends the script. Otherwise sets work, a directory for temporary files, and log, the file to which
# apt and the build write.
build_once() {
	prefix=${SPARTITO_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/spartito}/$1
	made=$prefix/$2
	if [ -e "$made" ]; then
		echo "$made"
		exit 0
	fi
	[ "$(id -u)" = 0 ] || { echo "$0: needs root" >&2; exit 1; }
	mkdir -p "$(dirname "$prefix")"
	log=$prefix.log
	work=$(mktemp -d "$(dirname "$prefix")/build.XXXXXX")
	trap 'rm -rf "$work"' EXIT
}

debian_mirror=http://deb.debian.org/debian debian_keyring=/usr/share/keyrings/debian-archive-keyring.gpg

apt_install() { DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >>"$log" 2>&1; }

# Reads the lists of a suite, separate from those of the system, with apt's own client. kind: deb or deb-src. Sets apt to its options.
# deb_arch: the processor of binary packages, as Debian names it, if it is not this one.
read_lists() {
	local kind=$1 mirror=$2 suite=$3 components=$4 keyring=$5
	local lists=$work/lists-$kind-$suite signed=signed-by=$5
	mkdir -p "$lists/partial"
	if [ ! -e "$keyring" ]; then
		echo "no keyring for $mirror, its source is not authenticated" >>"$log"
		signed=trusted=yes
	fi
	echo "$kind [$signed] $mirror $suite $components" >"$lists.list"
	apt="-o Dir::Etc::SourceList=$lists.list -o Dir::Etc::SourceParts=- -o Dir::State::Lists=$lists
		-o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o Acquire::Languages=none
		${deb_arch:+-o APT::Architecture=$deb_arch -o APT::Architectures=$deb_arch}"
	apt-get $apt -qq update >>"$log" 2>&1
}

# Downloads the source of packages into $work/source. mirror, suite, components, keyring: as for read_lists.
download() {
	local apt
	mkdir -p "$work/source"
	read_lists deb-src "$1" "$2" "$3" "$4" && shift 4 &&
		(cd "$work/source" && apt-get $apt -qq source --download-only --tar-only "$@" >>"$log" 2>&1)
}

# The same for binary packages, without those that they depend on, into $work/packages.
download_packages() {
	local apt
	mkdir -p "$work/packages"
	: >"$work/status" # apt would prefer the versions that are installed here
	read_lists deb "$1" "$2" "$3" "$4" && shift 4 &&
		(cd "$work/packages" && apt-get $apt -o "Dir::State::status=$work/status" -qq download "$@" >>"$log" 2>&1)
}

# Unpacks the source of a package and prints its directory.
unpack() {
	mkdir "$work/$1"
	tar xf "$work/source/$1"_*.orig.tar.* -C "$work/$1" --strip-components=1
	echo "$work/$1"
}
