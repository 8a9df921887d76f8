#!/usr/bin/env bash
# Records what client-go sends as protobuf into tests/recordings/client-go-protobuf.tar.xz.
#   scripts/client-go-fixtures.sh KUEUE_CHECKOUT
# Requires go. The checkout of kubernetes-sigs/kueue has client-go in its folder vendor; it is not changed.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
checkout=$(realpath "${1:?the checkout of kubernetes-sigs/kueue}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The program is compiled as a package of the checkout's module, to use its vendored modules.
printf '{"Replace": {"%s": "%s"}}' "$checkout/cmd/client-go-fixtures/main.go" \
  "$here/scripts/client-go-fixtures/main.go" >"$work/overlay"
(cd "$checkout" && go run -mod=vendor -overlay "$work/overlay" ./cmd/client-go-fixtures) >"$work/objects.jsonl"
tar --create --directory "$work" --format=ustar --mtime=@0 --owner=0 --group=0 --numeric-owner \
  --mode=u=rw,go=r --transform="s,^,client-go-protobuf/," objects.jsonl |
  xz --threads=1 --check=crc32 -9e >"$here/tests/recordings/client-go-protobuf.tar.xz"
