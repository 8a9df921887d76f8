#!/usr/bin/env bash
# Applies upstream Kueue's published example manifests (site/static/examples) to a fresh lab by
# server-side dry run. Prints a table: accepted, refused with the reason, or skipped for a file
# without objects of a Kubernetes API.
#   scripts/examples.sh KUEUE_CHECKOUT [BINARY]
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
[ $# -ge 1 ] || { sed -n 's/^#   /usage: /p' "$0" >&2; exit 2; }
examples=$(realpath "$1")/site/static/examples
[ -d "$examples" ] || { echo "$examples is missing: $1 is no checkout of Kueue" >&2; exit 2; }
lab=$(realpath "${2:-$here/target/release/kueue-lab}")
work=$(mktemp -d)
pid=
finish() {
  local code=$?
  [ -n "$pid" ] && kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
  rm -rf "$work"
  exit $code
}
trap finish EXIT
k() { kubectl --kubeconfig "$work/kubeconfig" "$@"; }

# Without the queues of a preset, whose names the examples use as well.
mkdir -p "$work/presets/empty"
echo "# No objects." >"$work/presets/empty/empty.yaml"
"$lab" up --headless --presets-dir "$work/presets" --preset empty \
  --nodes "$here/lab/nodes.yaml" --kubeconfig-out "$work/kubeconfig" >"$work/ready" 2>"$work/log" </dev/null &
pid=$!
for _ in $(seq 300); do
  grep -q ready "$work/ready" && break
  kill -0 "$pid" 2>/dev/null || { cat "$work/log" >&2; exit 1; }
  sleep 0.1
done

# dry_run FILE: `kubectl apply` cannot take generated names, `kubectl create` no existing ones.
dry_run() {
  if grep -q '^  generateName:' "$1"; then
    k create --dry-run=server -f "$1"
  else
    k apply --dry-run=server -f "$1"
  fi
}

accepted=0 refused=0 skipped=0
row() { printf '%-9s %-55s %s\n' "$@"; }
while read -r name; do
  file=$examples/$name
  if ! grep '^apiVersion:' "$file" | grep -v 'kind.x-k8s.io' >"$work/kinds"; then
    row skipped "$name" "not an object of a Kubernetes API"
    skipped=$((skipped + 1))
    continue
  fi
  if ! dry_run "$file" >"$work/out" 2>"$work/err"; then
    # A dry run does not create the namespace that the same file defines.
    missing=$(sed -n 's/.*namespaces "\(.*\)" not found.*/\1/p' "$work/err" | head -n 1)
    if [ -n "$missing" ] && grep -q '^kind: Namespace' "$file"; then
      k create namespace "$missing" >/dev/null
    fi
    if ! dry_run "$file" >"$work/out" 2>"$work/err"; then
      row refused "$name" "$(grep -m 1 -v '^Warning' "$work/err")"
      refused=$((refused + 1))
      continue
    fi
  fi
  row accepted "$name" "$(grep '^Warning' "$work/err" | grep -m 1 -v last-applied || true)"
  accepted=$((accepted + 1))
done < <(cd "$examples" && find . -name '*.yaml' | sed 's,^\./,,' | LC_ALL=C sort)
printf '%d accepted, %d refused, %d skipped\n' "$accepted" "$refused" "$skipped"
