#!/usr/bin/env bash
# Runs a suite of upstream Kueue's end-to-end tests (test/e2e) against an embedded cluster. The controller
# is that of the lab, or with --manager upstream's own, as a process behind its Deployment. Needs go and
# kubectl; the checkout has its dependencies in vendor/.
#   scripts/e2e.sh [--manager] KUEUE_CHECKOUT [SUITE [GINKGO_FLAG...]]
# SUITE is a folder of test/e2e, by default singlecluster/baseline. LAB names the binary.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
manager=false
if [ "${1:-}" = --manager ]; then manager=true; shift; fi
[ $# -ge 1 ] || { sed -n 's/^#   /usage: /p' "$0" >&2; exit 2; }
checkout=$(realpath "$1")
suite=${2:-singlecluster/baseline}
shift; [ $# -eq 0 ] || shift
[ -d "$checkout/test/e2e/$suite" ] || { echo "$checkout/test/e2e/$suite is missing" >&2; exit 2; }
lab=$(realpath "${LAB:-$here/target/release/kueue-lab}")
config=$checkout/test/e2e/config/default/controller_manager_config.yaml
work=$(mktemp -d)
pids=()
finish() {
  local code=$?
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null; done
  rm -rf "$work"
  exit $code
}
trap finish EXIT
export GOFLAGS=-mod=vendor KUBECONFIG=$work/kubeconfig E2E_KIND_VERSION=${E2E_KIND_VERSION:-embedded}
export KUBERAY_RAY_IMAGE=${KUBERAY_RAY_IMAGE:-rayproject/ray:stand-in}

echo "building the suite $suite"
(cd "$checkout" && go test -c -o "$work/suite" "./test/e2e/$suite" && go build -o bin/kubectl-kueue ./cmd/kueuectl)
"$manager" && (cd "$checkout" && go build -o "$work/manager" ./cmd/kueue)

flags=(--config "$config")
"$manager" && flags=(--controller none)
"$lab" up --headless --preset none --nodes "$here/lab/nodes-kind.yaml" "${flags[@]}" \
  --kubeconfig-out "$KUBECONFIG" >"$work/ready" 2>"$work/log" </dev/null &
pids+=($!)
for _ in $(seq 300); do
  grep -q ready "$work/ready" && break
  kill -0 "${pids[0]}" 2>/dev/null || { cat "$work/log" >&2; exit 1; }
  sleep 0.1
done

# Upstream's manager with the credentials of its ServiceAccount, as in its Pod, which has the network of
# a node at 127.0.0.1. The kubelet would mount the Secret of the webhooks' certificate.
start_manager() {
  local account=/var/run/secrets/kubernetes.io/serviceaccount
  local certificates=/tmp/k8s-webhook-server/serving-certs
  kubectl kustomize "$checkout/test/e2e/config/baseline" |
    kubectl apply --server-side --force-conflicts -f - >/dev/null
  kubectl -n kueue-system patch deployment kueue-controller-manager --type merge --patch '{"spec": {
    "strategy": {"type": "Recreate", "rollingUpdate": null}, "template": {"spec": {"hostNetwork": true,
    "nodeSelector": {"kubernetes.io/hostname": "kind-control-plane"}, "tolerations": [{"operator": "Exists"}]}}}}'
  mkdir -p "$account" "$certificates"
  kubectl -n kueue-system create token kueue-controller-manager --duration 12h >"$account/token"
  kubectl config view --raw -o jsonpath='{.clusters[0].cluster.certificate-authority-data}' |
    base64 -d >"$account/ca.crt"
  printf kueue-system >"$account/namespace"
  local server
  server=$(kubectl config view -o jsonpath='{.clusters[0].cluster.server}')
  env -u KUBECONFIG KUBERNETES_SERVICE_HOST=127.0.0.1 KUBERNETES_SERVICE_PORT="${server##*:}" \
    POD_NAMESPACE=kueue-system "$work/manager" --config="$config" >"$work/manager.log" 2>&1 &
  pids+=($!)
  until kubectl -n kueue-system get secret kueue-webhook-server-cert -o jsonpath='{.data.tls\.crt}' 2>/dev/null |
    grep -q .; do sleep 0.5; done
  for file in tls.crt tls.key ca.crt; do
    kubectl -n kueue-system get secret kueue-webhook-server-cert -o "jsonpath={.data.${file/./\\.}}" |
      base64 -d >"$certificates/$file"
  done
}
"$manager" && start_manager

# The suites of other kinds wait for the Deployments of their operators, which the lab's stand-ins replace.
start_operators() {
  local deployment namespace
  for deployment in appwrapper-system/appwrapper-controller-manager jobset-system/jobset-controller-manager \
    lws-system/lws-controller-manager kubeflow/training-operator mpi-operator/mpi-operator \
    default/kuberay-operator kubeflow-system/kubeflow-trainer-controller-manager \
    spark-operator/spark-operator-controller; do
    namespace=${deployment%/*}
    kubectl create namespace "$namespace" --dry-run=client -o yaml | kubectl apply -f - >/dev/null 2>&1
    kubectl -n "$namespace" create deployment "${deployment#*/}" --image stand-in -- sleep infinity >/dev/null
  done
  # An installation of Kubeflow Trainer has runtimes.
  kubectl apply -f - >/dev/null <<'RUNTIME'
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: torch-distributed, labels: {trainer.kubeflow.org/framework: torch}}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: pytorch}]}}}
RUNTIME
}
[ "${suite##*/}" != extended ] || start_operators

cd "$checkout/test/e2e/$suite"
"$work/suite" --ginkgo.no-color --ginkgo.label-filter='!feature:prometheus' "$@"
