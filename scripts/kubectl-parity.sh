#!/usr/bin/env bash
# Replays ../shared/kubectl-parity against a server and prints, per group, how many cases match the
# responses of a v1.36 API server.
#   scripts/kubectl-parity.sh [--lab | --kubeconfig FILE] [--only GROUP,GROUP] [--out FILE] [--jobs N]
# By default the embedded API server is started without controllers; --lab starts a whole lab
# (`kueue-lab up --headless`) for the groups that need controllers: scale, jobs, delete, wait,
# describe, ns. --kubeconfig uses a running server.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
suite=$here/../shared/kubectl-parity
[ -d "$suite" ] || { echo "skipped: $suite is not here"; exit 0; }
command -v kubectl >/dev/null || { echo "skipped: kubectl is not on PATH"; exit 0; }
command -v python3 >/dev/null || { echo "skipped: python3 is not on PATH"; exit 0; }
mode=api kubeconfig='' only='' jobs=2 out=$(mktemp -t parity-XXXXXX.jsonl)
while [ $# -gt 0 ]; do
  case $1 in
    --lab) mode=lab; shift ;;
    --kubeconfig) mode=given kubeconfig=$(realpath "$2"); shift 2 ;;
    --only) only=$2; shift 2 ;;
    --out) out=$(realpath "$2"); shift 2 ;;
    --jobs) jobs=$2; shift 2 ;;
    *) echo "unknown argument: $1" >&2; exit 2 ;;
  esac
done
work=$(mktemp -d) server=''
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
target=${CARGO_TARGET_DIR:-$here/target}
case $mode in
  api)
    cargo build --quiet --manifest-path "$here/Cargo.toml" --example apiserver
    run=("$target/debug/examples/apiserver" --kubeconfig-out "$work/kubeconfig") ;;
  lab)
    cargo build --quiet --manifest-path "$here/Cargo.toml" --bin kueue-lab
    run=("$target/debug/kueue-lab" up --headless --kubeconfig-out "$work/kubeconfig") ;;
esac
if [ "$mode" != given ]; then
  kubeconfig=$work/kubeconfig
  (cd "$work" && exec "${run[@]}") >"$work/log" 2>&1 &
  server=$!
  for _ in $(seq 300); do
    grep -q '^ready ' "$work/log" && break
    kill -0 "$server" 2>/dev/null || break
    sleep 0.1
  done
  grep -q '^ready ' "$work/log" || { echo "the server did not start:" >&2; cat "$work/log" >&2; exit 1; }
fi
# One group at a time, so that results are kept when a run is interrupted.
if [ -n "$only" ]; then
  groups=$(tr , '\n' <<<"$only")
else
  groups=$(grep -h '^#group ' "$suite"/cases/*.cases | cut -d' ' -f2)
fi
: >"$out"
export suite kubeconfig work
xargs -P "$jobs" -I{} sh -c '"$suite/parity.py" --kubeconfig "$kubeconfig" --only {} --jobs 1 \
  --out "$work/{}.jsonl" && cat "$work/{}.jsonl" >>'"$out" <<<"$groups" || true
[ -z "$server" ] || grep -s VmRSS "/proc/$server/status" || true
"$suite/compare.py" "$suite/golden.jsonl" "$out" || true
echo "results: $out"
