#!/usr/bin/env bash
# Starts the embedded API server and replays ../shared/kubectl-parity against it.
#   scripts/kubectl-parity.sh [--only GROUP,GROUP] [--out FILE]
# Prints per group how many cases answer as a real API server of v1.36 does.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
suite=$here/../shared/kubectl-parity
[ -d "$suite" ] || { echo "skipped: $suite is not here"; exit 0; }
command -v kubectl >/dev/null || { echo "skipped: kubectl is not on PATH"; exit 0; }
only=() out=$(mktemp -t parity-XXXXXX.jsonl)
while [ $# -gt 0 ]; do
  case $1 in
    --only) only=(--only "$2"); shift 2 ;;
    --out) out=$2; shift 2 ;;
    *) echo "unknown argument: $1" >&2; exit 2 ;;
  esac
done
work=$(mktemp -d)
cargo build --quiet --manifest-path "$here/Cargo.toml" --example apiserver
target=${CARGO_TARGET_DIR:-$here/target}
"$target/debug/examples/apiserver" --kubeconfig-out "$work/kubeconfig" >"$work/log" 2>&1 &
server=$!
trap 'kill $server 2>/dev/null || true; rm -rf "$work"' EXIT
for _ in $(seq 100); do [ -s "$work/kubeconfig" ] && break; sleep 0.1; done
"$suite/parity.py" --kubeconfig "$work/kubeconfig" --out "$out" --jobs 2 "${only[@]}"
"$suite/compare.py" "$suite/golden.jsonl" "$out" || true
echo "results: $out"
