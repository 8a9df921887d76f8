#!/usr/bin/env bash
# (No `grep -q` behind a pipe: it would end the writer early, which pipefail takes for a failure.)
# End-to-end test of a built kueue-lab: kubectl against the embedded cluster, a Job that is pending,
# runs and finishes, a preset edit that is applied, an invalid one that changes nothing, the tests of the
# shipped presets, the demos and the exit codes. Stops at the first failure.
#   scripts/drive.sh [BINARY]
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
lab=$(realpath "${1:-$here/target/release/kueue-lab}")
work=$(mktemp -d)
pid=
finish() {
  local code=$?
  [ -n "$pid" ] && kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
  [ $code -eq 0 ] || { echo "--- the lab's log"; tail -n 60 "$work/log" 2>/dev/null; }
  rm -rf "$work"
  exit $code
}
trap finish EXIT

steps=0
say() { printf '  %s\n' "$*"; steps=$((steps + 1)); }
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
k() { kubectl --kubeconfig "$work/kubeconfig" "$@"; }

# until_is SECONDS EXPECTED COMMAND...: runs the command until it prints EXPECTED.
until_is() {
  local left=$(($1 * 10)) expected=$2 got=
  shift 2
  while [ $left -gt 0 ]; do
    got=$("$@" 2>/dev/null) || true
    [ "$got" = "$expected" ] && return
    sleep 0.1
    left=$((left - 1))
  done
  fail "$* printed '$got', not '$expected'"
}

# exits CODE COMMAND...: runs a command that must exit with CODE.
exits() {
  local want=$1 code=0
  shift
  "$@" >"$work/out" 2>"$work/err" </dev/null || code=$?
  [ $code -eq "$want" ] || { cat "$work/err"; fail "$* ended with $code, not $want"; }
}

say "the command line"
"$lab" --version | grep '^kueue-lab ' >/dev/null || fail "--version"
"$lab" --help | grep 'Examples' >/dev/null || fail "--help has no examples"
"$lab" completions bash | grep kueue-lab >/dev/null || fail "completions"
[ "$("$lab" crds | grep -c '^kind: CustomResourceDefinition')" -ge 11 ] || fail "crds"
exits 2 "$lab" up --headless --preset no-such-preset
exits 2 "$lab" up --headless --presets-dir "$work/no-such-folder"
exits 2 "$lab" up --no-such-flag
exits 2 "$lab" demo no-such-demo --headless

say "a lab starts"
cp -r "$here/presets" "$work/presets"
"$lab" up --headless --presets-dir "$work/presets" --kubeconfig-out "$work/kubeconfig" \
  >"$work/ready" 2>"$work/log" </dev/null &
pid=$!
until_is 20 "ready $work/kubeconfig" cat "$work/ready"
[ "$(stat -c %a "$work/kubeconfig")" = 600 ] || fail "the kubeconfig can be read by others"
k get nodes -o name | grep node/ >/dev/null || fail "no nodes"
k get nodes -o jsonpath='{.items[*].status.allocatable.nvidia\.com/gpu}' | grep '[1-9]' >/dev/null ||
  fail "no node has GPUs"
until_is 10 True k get clusterqueue cluster-queue -o \
  'jsonpath={.status.conditions[?(@.type=="Active")].status}'

say "a Job is pending, runs and finishes"
job() {
  cat <<YAML
apiVersion: batch/v1
kind: Job
metadata:
  generateName: $1-
  namespace: default
  labels: {kueue.x-k8s.io/queue-name: user-queue, drive: "$1"}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: busybox
        command: ["sleep", "$2"]
        resources: {requests: {cpu: "6", memory: 1Gi}}
YAML
}
job first 3 | k create -f - >/dev/null
until_is 10 1 k get jobs -l drive=first -o 'jsonpath={.items[0].status.active}'
job second 1 | k create -f - >/dev/null
until_is 10 false k get jobs -l drive=first -o 'jsonpath={.items[0].spec.suspend}'
[ "$(k get jobs -l drive=second -o 'jsonpath={.items[0].spec.suspend}')" = true ] ||
  fail "the second Job was not pending"
until_is 30 1 k get jobs -l drive=second -o 'jsonpath={.items[0].status.succeeded}'
until_is 10 'True True' k get workloads -o \
  'jsonpath={.items[*].status.conditions[?(@.type=="Finished")].status}'

say "a preset edit is applied; an invalid one changes nothing"
quota() {
  k get clusterqueue cluster-queue -o \
    'jsonpath={.spec.resourceGroups[0].flavors[0].resources[0].nominalQuota}'
}
file=$(grep -l 'kind: ClusterQueue' "$work"/presets/skypilot-priority/*.yaml)
until_is 5 9 quota
sed 's/nominalQuota: 9$/nominalQuota: 12/' "$file" >"$work/edited"
cp "$work/edited" "$file"
until_is 5 12 quota
sed 's/nominalQuota: 12$/nominalQuota: -3/' "$work/edited" >"$file"
for _ in $(seq 50); do grep -q "$(basename "$file"):" "$work/log" && break; sleep 0.1; done
grep -q "$(basename "$file"):[0-9]*" "$work/log" || fail "the invalid file was not reported"
[ "$(quota)" = 12 ] || fail "the invalid file changed the queue"

say "a v1alpha2 ClusterQueue is accepted with a warning"
cat >"$work/old.yaml" <<'YAML'
apiVersion: kueue.x-k8s.io/v1alpha2
kind: ClusterQueue
metadata: {name: research-pool}
spec:
  namespaceSelector: {}
  cohort: research
  resourceGroups:
  - coveredResources: ["cpu"]
    flavors:
    - name: default-flavor
      resources: [{name: cpu, nominalQuota: "9"}]
YAML
k apply -f "$work/old.yaml" 2>"$work/err" >/dev/null || { cat "$work/err"; fail "it was rejected"; }
grep -q 'Warning: .*v1beta2' "$work/err" || fail "there was no warning"
until_is 5 research k get clusterqueue research-pool -o 'jsonpath={.spec.cohortName}'
k apply -f "$work/old.yaml" 2>/dev/null | grep unchanged >/dev/null || fail "applying it again changed it"
[ "$(k get clusterqueues.v1beta1.kueue.x-k8s.io research-pool -o 'jsonpath={.spec.cohort}')" = research ] ||
  fail "it cannot be read as v1beta1"
k delete clusterqueue research-pool >/dev/null

say "it stops cleanly"
kill -INT "$pid"
code=0
wait "$pid" || code=$?
pid=
[ $code -eq 0 ] || fail "SIGINT ended the lab with $code"

say "the tests of the shipped presets pass"
exits 0 "$lab" test "$here/lab/tests" --presets-dir "$here/presets"

say "the demos pass"
for demo in skypilot-priority-preemption cohort-borrow-and-reclaim; do
  exits 0 "$lab" demo "$demo" --headless
done
exits 0 "$lab" demo skypilot-priority-preemption --headless --speed 20
printf '%d passed, 0 failed\n' "$steps"
