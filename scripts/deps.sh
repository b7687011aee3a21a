#!/bin/sh
# SPDX-License-Identifier: MIT
# deps.sh build|test|bench: installs the Debian packages that are missing for this purpose. With sudo when not root; where
# neither works it prints the list and fails.
set -eu

build="gcc make meson ninja-build pkg-config python3 libuv1-dev libcurl4-openssl-dev libssl-dev libpcre2-dev libyaml-dev zlib1g-dev libxml2-dev libgd-dev libarchive-dev libmd4c-dev libutf8proc-dev ca-certificates"
test="$build locales poppler-utils zsh fish groff-base clang libclang-rt-14-dev clang-format libcmocka-dev libjansson-dev ripgrep git nodejs npm python3-pexpect tmux strace libvterm-dev dropbear-bin vim curl jq less file openssh-client bc xxd iproute2 wget"
bench="$build ripgrep libjansson-dev libcjson-dev strace"

case "${1:-build}" in
build) wanted=$build ;;
test) wanted=$test ;;
bench) wanted=$bench ;;
*) echo "usage: deps.sh build|test|bench" >&2; exit 2 ;;
esac

# A tool that is there under its own name needs no package (a node from elsewhere, say).
have() {
	case $1 in
	nodejs) command -v node >/dev/null 2>&1 && return 0 ;;
	npm | git | gcc | make | clang | python3 | vim | curl | jq | less | file | bc | xxd | wget) command -v "$1" >/dev/null 2>&1 && return 0 ;;
	esac
	[ "$(dpkg-query -W -f '${Status}' "$1" 2>/dev/null)" = "install ok installed" ]
}

missing=
for package in $wanted; do
	have "$package" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

complain() {
	echo "These packages are missing and cannot be installed from here:$missing" >&2
	echo "On Debian 12 or newer: apt-get install$missing" >&2
	exit 1
}
command -v apt-get >/dev/null 2>&1 || complain
if [ "$(id -u)" -eq 0 ]; then
	as_root=
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
	as_root=sudo
elif command -v sudo >/dev/null 2>&1 && [ -t 0 ]; then
	as_root=sudo
else
	complain
fi
echo "installing:$missing"
$as_root apt-get update -qq || complain
# shellcheck disable=SC2086
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null || complain
