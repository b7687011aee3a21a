#!/bin/sh
# SPDX-License-Identifier: MIT
# sign-catalog.sh KEY.pem CATALOG.json: a catalog of models for `cadre models update`, signed with an Ed25519 key (docs/models.md).
set -eu
[ $# -eq 2 ] || { echo "usage: $0 KEY.pem CATALOG.json" >&2; exit 2; }
trimmed=$(mktemp)
trap 'rm -f "$trimmed"' EXIT
python3 -c 'import sys; sys.stdout.write(open(sys.argv[1]).read().strip())' "$2" >"$trimmed"
signature=$(openssl pkeyutl -sign -rawin -inkey "$1" -in "$trimmed" | base64 -w0)
printf '{"catalog": %s, "signature": "%s"}\n' "$(cat "$trimmed")" "$signature"
