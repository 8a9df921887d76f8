#!/usr/bin/env bash
# Replays the recorded kubectl cases against a server and prints, per group, how many results equal those of
# an API server of v1.36. The cases are in tests/recordings/kubectl-parity.tar.xz.
#   scripts/kubectl-parity.sh [--lab | --kubeconfig FILE] [--only GROUP,GROUP] [--out FILE] [--jobs N]
# By default the embedded API server is started without controllers. --lab starts a lab
# (`kueue-lab up --headless`), which these groups require: scale, jobs, delete, wait, describe, ns.
# --kubeconfig uses a running server.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
for tool in kubectl python3; do
  command -v "$tool" >/dev/null && continue
  echo "skipped: $tool is not on PATH"
  [ "${CI:-}" = true ] && exit 1 || exit 0
done
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
python3 -m tarfile -e "$here/tests/recordings/kubectl-parity.tar.xz" "$work"
suite=$work/kubectl-parity
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
# One group at a time, so that an interrupted run keeps the results of finished groups.
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
