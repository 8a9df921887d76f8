#!/usr/bin/env bash
# Runs a suite of upstream Kueue's end-to-end tests (test/e2e) against embedded clusters. The controller
# is that of the lab, or with --manager upstream's own, as a process behind its Deployment. Needs go and
# kubectl; the checkout has its dependencies in vendor/.
#   scripts/e2e.sh [--manager] KUEUE_CHECKOUT [SUITE [GINKGO_FLAG...]]
# SUITE is a folder of test/e2e, by default singlecluster/baseline. The suites of multikueue/ get a manager
# and two worker clusters. LAB names the binary.
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
work=$(mktemp -d)
manager_pid=
finish() {
  local code=$? pid
  for pid in $(cat "$work"/*/pid 2>/dev/null) $manager_pid; do
    kill "$pid" 2>/dev/null || continue
    while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
  done
  rm -rf "$work"
  exit $code
}
trap finish EXIT
export GOFLAGS=-mod=vendor KUBECONFIG=$work/kubeconfig E2E_KIND_VERSION=${E2E_KIND_VERSION:-embedded}
export KUBERAY_RAY_IMAGE=${KUBERAY_RAY_IMAGE:-rayproject/ray:stand-in}
export CLUSTERPROFILE_PLUGIN_IMAGE=${CLUSTERPROFILE_PLUGIN_IMAGE:-secretreader:stand-in}
# `docker exec NODE` of the suites.
export E2E_WORK=$work PATH=$here/scripts/e2e:$PATH

# The clusters, their nodes and Kueue's configuration, as in upstream's hack/make/test.mk.
clusters=(kind) nodes=$here/lab/nodes-kind.yaml config=test/e2e/config/default
case $suite in
  tas/*) nodes=$here/scripts/e2e/nodes-tas.yaml ;;
  multikueue/*)
    clusters=(kind-manager kind-worker1 kind-worker2) nodes=$here/scripts/e2e/nodes-multikueue.yaml ;;
esac
case $suite in
  dra/*) config=test/e2e/config/$suite ;;
  multikueue/dra) config=test/e2e/config/dra/whole-device ;;
  multikueue/baseline | multikueue/sequential) config=test/e2e/config/$suite ;;
  */extended) config=test/e2e/config/extended ;;
esac
config=$checkout/$config/controller_manager_config.yaml
operators=true
[[ $suite == */extended ]] || operators=false
driver=true
[[ $suite == *dra* ]] || driver=false

echo "building the suite $suite"
# The manager reaches the API server of a kind cluster at the name of its control plane node.
address=$checkout/test/util/e2e.go
sed 's|return "https://" + clusterName + "-control-plane:6443"|return os.Getenv("E2E_SERVER_" + strings.ReplaceAll(clusterName, "-", "_"))|' \
  "$address" >"$work/e2e.go"
printf '{"Replace": {"%s": "%s"}}' "$address" "$work/e2e.go" >"$work/overlay.json"
(cd "$checkout" && go test -c -overlay "$work/overlay.json" -o "$work/suite" "./test/e2e/$suite" &&
  go build -o bin/kubectl-kueue ./cmd/kueuectl)
"$manager" && (cd "$checkout" && go build -o "$work/manager" ./cmd/kueue)

# Starts a cluster, whose command and process ID are kept for the stand-in of docker.
start_cluster() {
  local name=$1 flags=(--config "$config") dir=$work/$1
  "$manager" && flags=(--controller none)
  "$operators" || [[ $suite != multikueue/* ]] || flags+=(--no-operators)
  [[ $suite != multikueue/sequential ]] || flags+=(--data-dir "$dir/data")
  mkdir "$dir"
  printf '%q ' "$lab" up --headless --preset none --nodes "$nodes" "${flags[@]}" \
    --kubeconfig-out "$dir/kubeconfig" >"$dir/command"
  "$here/scripts/e2e/start-cluster" "$dir"
  # The context of a kind cluster.
  sed "s/\(name\|cluster\|user\|current-context\): kueue-lab\$/\1: kind-$name/" "$dir/kubeconfig" >"$dir/context"
  export "E2E_SERVER_${name//-/_}=$(kubectl --kubeconfig "$dir/context" config view -o jsonpath='{.clusters[0].cluster.server}')"
}
for cluster in "${clusters[@]}"; do start_cluster "$cluster"; done
KUBECONFIG=$(printf ":$work/%s/context" "${clusters[@]}") kubectl config view --flatten >"$work/kubeconfig"
kubectl config use-context "kind-${clusters[0]}" >/dev/null

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
  manager_pid=$!
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

# The controllers of a kind cluster, for which the suite waits after a restart of the API server, and the
# definition of ClusterProfiles.
start_kube_system() { # CLUSTER
  local name
  kubectl -n kube-system create deployment coredns --image stand-in -- sleep infinity >/dev/null
  for name in kindnet kube-proxy; do
    kubectl apply -f - >/dev/null <<DAEMONSET
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: $name, namespace: kube-system}
spec:
  selector: {matchLabels: {app: $name}}
  template:
    metadata: {labels: {app: $name}}
    spec: {containers: [{name: $name, image: stand-in, command: [sleep, infinity]}]}
DAEMONSET
  done
  for name in etcd kube-controller-manager kube-apiserver kube-scheduler; do
    kubectl apply -f - >/dev/null <<POD
apiVersion: v1
kind: Pod
metadata: {name: $name-$1-control-plane, namespace: kube-system}
spec: {nodeName: kind-control-plane, containers: [{name: $name, image: stand-in, command: [sleep, infinity]}]}
POD
  done
  kubectl apply -f - >/dev/null <<'DEFINITION'
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: clusterprofiles.multicluster.x-k8s.io}
spec:
  group: multicluster.x-k8s.io
  names: {kind: ClusterProfile, listKind: ClusterProfileList, plural: clusterprofiles, singular: clusterprofile}
  scope: Namespaced
  versions:
  - name: v1alpha1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
DEFINITION
}

for cluster in "${clusters[@]}"; do
  export KUBECONFIG=$work/$cluster/context
  if "$operators"; then start_operators; fi
  if [[ $suite == multikueue/sequential ]]; then start_kube_system "$cluster"; fi
  if "$driver"; then "$here/scripts/e2e/dra-example-driver" "$suite"; fi
done
export KUBECONFIG=$work/kubeconfig

cd "$checkout/test/e2e/$suite"
"$work/suite" --ginkgo.no-color --ginkgo.label-filter='!feature:prometheus' "$@"
