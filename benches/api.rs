//! The cost of frequent operations of the crate `api`, and of those at the start.

#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use divan::{Bencher, black_box};
use kueue_lab_api::config::{self, FeatureGates};
use kueue_lab_api::crds::{Conversion, all_yaml, by_kind};
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_api::{convert, load, validation};
use kueue_lab_quantity::Quantity;
use serde_json::Value;

fn main() {
    divan::main();
}

const QUEUE: &str = "\
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: team-a}
spec:
  namespaceSelector: {}
  cohort: research
  preemption: {withinClusterQueue: LowerPriority}
  resourceGroups:
  - coveredResources: [cpu, memory, nvidia.com/gpu]
    flavors:
    - name: a100
      resources:
      - {name: cpu, nominalQuota: 100}
      - {name: memory, nominalQuota: 500Gi}
      - {name: nvidia.com/gpu, nominalQuota: 8, borrowingLimit: 8}
    - name: l4
      resources:
      - {name: cpu, nominalQuota: 100}
      - {name: memory, nominalQuota: 500Gi}
      - {name: nvidia.com/gpu, nominalQuota: 16}
";

const WORKLOAD: &str = r#"{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload",
"metadata":{"name":"job-train-1a2b3","namespace":"team-a","uid":"0b6f","resourceVersion":"17"},
"spec":{"active":true,"queueName":"user-queue","priority":100,"podSets":[{"name":"main","count":4,
"template":{"metadata":{"labels":{"app":"train"}},"spec":{"restartPolicy":"Never","containers":[
{"name":"main","image":"train:1","args":["30s"],"resources":{"requests":
{"cpu":"4","memory":"16Gi","nvidia.com/gpu":"1"},"limits":{"nvidia.com/gpu":"1"}}}]}}}]},
"status":{"conditions":[{"type":"QuotaReserved","status":"True","reason":"QuotaReserved",
"message":"Quota reserved in ClusterQueue team-a","lastTransitionTime":"2026-01-01T00:00:00Z"},
{"type":"Admitted","status":"True","reason":"Admitted","message":"The workload is admitted",
"lastTransitionTime":"2026-01-01T00:00:00Z"}],"admission":{"clusterQueue":"team-a",
"podSetAssignments":[{"name":"main","count":4,"flavors":{"cpu":"a100","memory":"a100",
"nvidia.com/gpu":"a100"},"resourceUsage":{"cpu":"16","memory":"64Gi","nvidia.com/gpu":"4"},
"topologyAssignment":{"levels":["kubernetes.io/hostname"],"slices":[{"domainCount":4,
"valuesPerLevel":[{"individual":{"prefix":"node-","roots":["1","2","3","4"]}}],
"podCounts":{"universal":1}}]}}]}}}"#;

#[divan::bench]
fn workload_decode(bencher: Bencher) {
    bencher.bench(|| serde_json::from_str::<Workload>(black_box(WORKLOAD)).unwrap());
}

#[divan::bench]
fn workload_encode(bencher: Bencher) {
    let workload: Workload = serde_json::from_str(WORKLOAD).unwrap();
    bencher.bench(|| serde_json::to_vec(black_box(&workload)).unwrap());
}

#[divan::bench]
fn workload_to_v1beta1_and_back(bencher: Bencher) {
    let workload: Value = serde_json::from_str(WORKLOAD).unwrap();
    bencher
        .with_inputs(|| workload.clone())
        .bench_values(|mut w| {
            convert::convert(&mut w, "v1beta1").unwrap();
            convert::convert(&mut w, "v1beta2").unwrap();
            w
        });
}

#[divan::bench]
fn workload_validate_update(bencher: Bencher) {
    let workload: Workload = serde_json::from_str(WORKLOAD).unwrap();
    let gates = FeatureGates::default();
    bencher.bench(|| validation::workload_update(black_box(&workload), &workload, &gates));
}

#[divan::bench]
fn preset_queue_load(bencher: Bencher) {
    let gates = FeatureGates::default();
    bencher.bench(|| load::objects(black_box(QUEUE), &gates).unwrap());
}

#[divan::bench]
fn configuration_load(bencher: Bencher) {
    let text = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nfairSharing: {preemptionStrategies: [LessThanInitialShare]}\n";
    bencher.bench(|| config::load(black_box(text)).unwrap());
}

#[divan::bench]
fn crd_of_workloads_as_json(bencher: Bencher) {
    let crd = by_kind("kueue.x-k8s.io", "Workload").unwrap();
    bencher.bench(|| crd.json(black_box(&Conversion::None)));
}

#[divan::bench(sample_count = 5)]
fn all_crds_as_yaml(bencher: Bencher) {
    bencher.bench(|| all_yaml(black_box(&Conversion::None)).unwrap());
}

#[divan::bench(args = ["9", "1500m", "36Gi", "1000000000Gi", "1e30"])]
fn quantity_parse(bencher: Bencher, text: &str) {
    bencher.bench(|| Quantity::parse(black_box(text)).unwrap());
}

#[divan::bench]
fn quantity_add_and_compare(bencher: Bencher) {
    let (a, b) = (
        Quantity::parse("36Gi").unwrap(),
        Quantity::parse("1500m").unwrap(),
    );
    bencher.bench(|| black_box(a) + black_box(b) > black_box(a));
}
