#!/usr/bin/env bash
# Measures a lab from outside: time to ready, resident memory, and the creation and admission of 1,000
# suspended Jobs with kubectl, without and with the terminal UI (in tmux, if it is installed).
#
# usage: scripts/measure.sh [BINARY]       (target/release/kueue-lab)
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
lab=$(realpath "${1:-$here/target/release/kueue-lab}")
work=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null || true; rm -rf "$work"' EXIT
export HOME=$work

k() { kubectl --kubeconfig "$work/kubeconfig" "$@"; }
now() { date +%s%3N; }

start() {
  : >"$work/ready"
  "$lab" up --headless --presets-dir "$1" --preset "$2" --kubeconfig-out "$work/kubeconfig" \
    >"$work/ready" 2>"$work/log" </dev/null &
  pid=$!
  until [ -s "$work/ready" ]; do
    kill -0 "$pid" 2>/dev/null || { cat "$work/log"; exit 1; }
    sleep 0.005
  done
}

stop() {
  kill -INT "$pid"
  wait "$pid" || true
  pid=
}

resident() { awk '/^VmRSS/ {printf "%d MB", $2 / 1024}' "/proc/$1/status"; }

for run in 1 2 3; do
  begun=$(now)
  start "$here/presets" skypilot-priority
  printf 'ready (run %d): %d ms\n' "$run" $(($(now) - begun))
  sleep 2
  [ "$run" = 3 ] && printf 'resident with the default preset: %s\n' "$(resident "$pid")"
  stop
done

mkdir -p "$work/presets/big"
cat >"$work/presets/big/queue.yaml" <<'YAML'
# One queue with quota for all Jobs.
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: any}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: big}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - name: any
      resources:
      - {name: cpu, nominalQuota: 1000}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: big, namespace: default}
spec: {clusterQueue: big}
YAML
jobs() {
  for i in $(seq "$1" "$2"); do
    cat <<YAML
---
apiVersion: batch/v1
kind: Job
metadata: {name: job-$i, labels: {kueue.x-k8s.io/queue-name: big}}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: c, image: busybox, command: [sleep, "600"], resources: {requests: {cpu: 100m}}}
YAML
  done
}
jobs 1 500 >"$work/a.yaml"
jobs 501 1000 >"$work/b.yaml"

# Creates the Jobs, waits until all are admitted, and prints both times and the memory of the
# process $1.
flood() {
  local begun=$(now) one
  k create -f "$work/a.yaml" >/dev/null &
  one=$!
  k create -f "$work/b.yaml" >/dev/null
  wait "$one"
  printf '1,000 Jobs created by two kubectl: %d ms\n' $(($(now) - begun))
  until [ "$(k get clusterqueue big -o 'jsonpath={.status.admittedWorkloads}')" = 1000 ]; do
    [ $(($(now) - begun)) -lt 180000 ] || { echo "not all were admitted in three minutes"; exit 1; }
    sleep 0.1
  done
  printf 'all 1,000 admitted: %d ms after the first was created\n' $(($(now) - begun))
  printf 'resident with them: %s\n' "$(resident "$1")"
}

echo 'headless:'
start "$work/presets" big
flood "$pid"
stop

command -v tmux >/dev/null || { echo "there is no tmux: no frames measured"; exit 0; }
echo 'with the terminal UI, 200x60, on its list of workloads:'
t() { tmux -L "kueue-lab-measure-$$" "$@"; }
trap 't kill-server 2>/dev/null || true; rm -rf "$work"' EXIT
rm -f "$work/kubeconfig"
t -f /dev/null new-session -d -s lab -x 200 -y 60 -c "$work" \
  "exec '$lab' up --presets-dir '$work/presets' --preset big --kubeconfig-out '$work/kubeconfig'"
until [ -s "$work/kubeconfig" ] && t capture-pane -p -t lab | grep '1 Queues' >/dev/null; do sleep 0.05; done
# Time from saving a preset file until the screen shows the change.
for quota in 2001 2002 2003; do
  begun=$(now)
  sed -i "s/nominalQuota: .*}/nominalQuota: $quota}/" "$work/presets/big/queue.yaml"
  until t capture-pane -p -t lab | grep "/$quota" >/dev/null; do :; done
  printf 'a saved quota is on the screen: %d ms later\n' $(($(now) - begun))
  sleep 1
done
t send-keys -t lab 2
flood "$(t display-message -p -t lab '#{pane_pid}')"
kill -INT "$(t display-message -p -t lab '#{pane_pid}')"
log=$(find "$work" -name kueue-lab.log)
for _ in $(seq 100); do grep ' frames: ' "$log" >/dev/null && break; sleep 0.1; done
sed -n 's/^.*INFO *//; / frames: /p' "$log"
