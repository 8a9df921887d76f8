//! `kueue.yaml`, `nodes.yaml` and `clusters.yaml` of a preset.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{Patch, PatchParams};
use kueue_lab_api::config::load;
use kueue_lab_api::v1beta2::ClusterQueue;
use serde_json::json;

use crate::fixture::{CONFIG_HEAD, PresetLab, Start, queues};

const NODES: &str = "pools:\n- name: gpu\n  count: 2\n  resources: {cpu: 4, memory: 8Gi, pods: 10, nvidia.com/gpu: 8}\n";
const BIG_SAMPLE: &str = "# Too big.
apiVersion: batch/v1
kind: Job
metadata: {name: big}
spec:
  template:
    spec:
      containers:
      - name: c
        resources: {requests: {nvidia.com/gpu: 16}}
";

fn fair_sharing() -> String {
    format!(
        "{CONFIG_HEAD}fairSharing: {{preemptionStrategies: [LessThanOrEqualToFinalShare]}}\nintegrations: {{frameworks: [batch/job, pod]}}\n"
    )
}

fn weight(weight: u32) -> String {
    queues(4, &format!("  fairSharing:\n    weight: {weight}\n"))
}

#[test]
fn the_first_preset_configures_the_lab() {
    let config = fair_sharing();
    let files = [
        ("a/queues.yaml", weight(2)),
        ("a/kueue.yaml", config.clone()),
        ("a/nodes.yaml", NODES.to_owned()),
        (
            "a/kustomization.yaml",
            "resources: [queues.yaml]\n".to_owned(),
        ),
    ];
    Start::new(&files.each_ref().map(|(f, t)| (*f, t.as_str()))).run(async |lab: PresetLab| {
        assert_eq!(lab.configuration().frameworks(), ["batch/job", "pod"]);
        assert!(lab.configuration().fair_sharing.is_some());
        assert_eq!(lab.config_map().await, config);
        assert_eq!(lab.nodes().await, ["gpu-0", "gpu-1"]);
        assert_eq!(lab.warnings(), Vec::<String>::new());
    });
}

#[test]
fn a_save_restarts_the_controller_and_keeps_admissions() {
    let start = Start::new(&[
        ("a/queues.yaml", &queues(1, "")),
        ("b/q.yaml", &queues(2, "")),
    ]);
    start.run(async |lab: PresetLab| {
        let first = lab.config_map().await;
        lab.create_job("admitted").await;
        lab.until("the job is admitted", async || {
            (lab.admissions().await.len() == 1).then_some(())
        })
        .await;
        let before = lab.admissions().await;
        lab.create_job("pending").await;

        let config = fair_sharing();
        lab.save("a/kueue.yaml", &config).await;
        assert_eq!(lab.errors(), Vec::<String>::new());
        assert_eq!(lab.config_map().await, config);
        assert!(lab.configuration().fair_sharing.is_some());
        let summary = lab.summary();
        assert!(
            summary.contains("the controller restarted with a new configuration: ")
                && summary.contains("fairSharing is set"),
            "{summary}"
        );
        // A field that needs the new configuration.
        lab.save("a/queues.yaml", &weight(3)).await;
        assert_eq!(lab.errors(), Vec::<String>::new());
        lab.until("the other job is admitted", async || {
            (lab.admissions().await.len() == 2).then_some(())
        })
        .await;
        assert_eq!(lab.admissions().await[0], before[0]);

        // Without the file, and in another preset, the configuration is that of the lab.
        lab.save("a/queues.yaml", &queues(1, "")).await;
        lab.remove("a/kueue.yaml").await;
        assert_eq!(lab.config_map().await, first);
        assert!(lab.configuration().fair_sharing.is_none());
        lab.save("a/kueue.yaml", &config).await;
        lab.lab.presets().switch("b").await.unwrap();
        assert_eq!(lab.config_map().await, first);
        assert!(lab.configuration().fair_sharing.is_none());
    });
}

#[test]
fn an_invalid_configuration_changes_nothing() {
    let config = fair_sharing();
    let start = Start::new(&[("a/queues.yaml", &weight(2)), ("a/kueue.yaml", &config)]);
    start.run(async |lab: PresetLab| {
        for (text, error) in [
            (
                format!("{CONFIG_HEAD}fairSharin: {{}}\n"),
                "a/kueue.yaml:3:1: fairSharin: unknown field",
            ),
            (format!("{CONFIG_HEAD}a: [\n"), "a/kueue.yaml:"),
            (
                format!("{CONFIG_HEAD}integrations: {{frameworks: [pod]}}\n"),
                "a/queues.yaml:19:5: ClusterQueue/cq: spec.fairSharing.weight has no effect without fair sharing; add `fairSharing: {preemptionStrategies: [LessThanOrEqualToFinalShare, LessThanInitialShare]}` to ",
            ),
        ] {
            lab.save("a/kueue.yaml", &text).await;
            let errors = lab.errors();
            assert!(errors[0].starts_with(error), "{errors:?}");
            assert_eq!(lab.config_map().await, config);
            assert!(lab.configuration().fair_sharing.is_some());
        }
        lab.save("a/kueue.yaml", &config).await;
        assert_eq!(lab.errors(), Vec::<String>::new());
    });
}

#[test]
fn objects_and_samples_that_the_configuration_ignores_are_reported() {
    let scope = "  admissionScope: {admissionMode: UsageBasedAdmissionFairSharing}\n";
    let sample = "# A Pod.\napiVersion: v1\nkind: Pod\n";
    let start = Start::new(&[("a/q.yaml", &queues(4, "")), ("a/samples/pod.yaml", sample)]);
    start.run(async |lab: PresetLab| {
        lab.save("a/q.yaml", &queues(4, scope)).await;
        // The lab's own configuration may change: a warning.
        assert_eq!(
            lab.warnings(),
            [
                "a/q.yaml:18:3: ClusterQueue/cq: spec.admissionScope has no effect without admission fair sharing; add a kueue.yaml with `admissionFairSharing: {usageHalfLifeTime: 168h, usageSamplingInterval: 5m}` to the preset"
            ]
        );
        lab.save("a/kueue.yaml", &format!("{CONFIG_HEAD}integrations: {{frameworks: [batch/job]}}\n"))
            .await;
        let errors = lab.errors();
        assert!(errors[0].contains("spec.admissionScope has no effect"), "{errors:?}");
        assert!(
            errors[1].starts_with("a/samples/pod.yaml:3:1: the framework pod is not enabled; add integrations.frameworks: [pod] to "),
            "{errors:?}"
        );
    });
}

#[test]
fn nodes_are_replaced_and_an_invalid_file_changes_nothing() {
    let start = Start::new(&[
        ("a/queues.yaml", &queues(1, "")),
        ("b/q.yaml", &queues(2, "")),
    ]);
    start.run(async |lab: PresetLab| {
        assert_eq!(lab.nodes().await, ["own-0"]);
        lab.save("a/nodes.yaml", NODES).await;
        assert_eq!(lab.nodes().await, ["gpu-0", "gpu-1"]);
        assert!(lab.summary().contains("2 nodes of the preset"), "{}", lab.summary());
        lab.save("a/nodes.yaml", "pools:\n- name: gpu\n  count: -1\n").await;
        assert!(lab.errors()[0].starts_with("a/nodes.yaml:"), "{:?}", lab.errors());
        assert_eq!(lab.nodes().await, ["gpu-0", "gpu-1"]);
        lab.save("a/nodes.yaml", NODES).await;
        lab.save("a/samples/big.yaml", BIG_SAMPLE).await;
        let error = &lab.errors()[0];
        assert!(
            error.starts_with("a/nodes.yaml:1:1: no node can run a Pod of ")
                && error.contains("a/samples/big.yaml:9:9: it requests 16 nvidia.com/gpu, and no node has more than 8"),
            "{error}"
        );
        lab.remove("a/samples/big.yaml").await;
        lab.lab.presets().switch("b").await.unwrap();
        assert_eq!(lab.nodes().await, ["own-0"]);
    });
}

#[test]
fn flags_win_over_presets() {
    let config = fair_sharing();
    let start = Start {
        kueue: Some(load(CONFIG_HEAD).unwrap()),
        nodes_of_presets: false,
        ..Start::new(&[
            ("a/queues.yaml", &queues(1, "")),
            ("a/kueue.yaml", &config),
            ("a/nodes.yaml", NODES),
        ])
    };
    start.run(async |lab: PresetLab| {
        assert_eq!(lab.config_map().await, CONFIG_HEAD);
        assert_eq!(lab.nodes().await, ["own-0"]);
        assert_eq!(
            lab.warnings(),
            [
                "a/kueue.yaml:1:1: the file has no effect: --config names the configuration",
                "a/nodes.yaml:1:1: the file has no effect: the nodes are those of --nodes or of the cluster",
            ]
        );
    });
}

#[test]
fn clusters_start_and_stop_by_the_file() {
    let start = Start::new(&[
        ("a/queues.yaml", &queues(1, "")),
        ("a/clusters.yaml", "workers: 1\n"),
        ("b/queues.yaml", &queues(2, "")),
        ("c/queues.yaml", &queues(3, "")),
        ("c/clusters.yaml", "workers: 2\n"),
    ]);
    start.run(async |lab: PresetLab| {
        assert_eq!(lab.connected_workers().await, ["worker1"]);
        assert_eq!(lab.warnings(), Vec::<String>::new());
        lab.save("a/clusters.yaml", "workers: 3\n").await;
        assert_eq!(
            lab.connected_workers().await,
            ["worker1", "worker2", "worker3"]
        );
        // A worker has the queues of the preset too.
        let (_, worker3) = lab.lab.worker_clients().remove(2);
        let queues = Api::<ClusterQueue>::all(worker3);
        lab.until("the queues are in the worker", async || {
            queues.get_opt("cq").await.unwrap()
        })
        .await;
        lab.save("a/clusters.yaml", "workers: none\n").await;
        let error = &lab.errors()[0];
        assert!(error.starts_with("a/clusters.yaml:1:10: "), "{error}");
        assert_eq!(lab.lab.worker_clients().len(), 3);
        lab.save("a/clusters.yaml", "workers: 1\n").await;
        assert_eq!(lab.connected_workers().await, ["worker1"]);
        lab.lab.presets().switch("b").await.unwrap();
        assert_eq!(lab.connected_workers().await, Vec::<String>::new());
        lab.lab.presets().switch("a").await.unwrap();
        assert_eq!(lab.connected_workers().await, ["worker1"]);
        // A new worker starts with the preset that is switched to, not with that before.
        lab.lab.presets().switch("c").await.unwrap();
        assert_eq!(lab.connected_workers().await, ["worker1", "worker2"]);
        let (_, worker2) = lab.lab.worker_clients().remove(1);
        let queue = Api::<ClusterQueue>::all(worker2).get("cq").await.unwrap();
        assert_eq!(queue.metadata.generation, Some(1));
        let quota = json!(queue.spec)["resourceGroups"][0]["flavors"][0]["resources"][0].take();
        assert_eq!(quota["nominalQuota"], "3");
    });
}

#[test]
fn changes_of_kubectl_are_reported() {
    let start = Start::new(&[("a/queues.yaml", &queues(1, ""))]);
    start.run(async |lab: PresetLab| {
        let edit = json!({"spec": {"queueingStrategy": "StrictFIFO", "resourceGroups": [{
            "coveredResources": ["cpu"],
            "flavors": [{"name": "default", "resources": [{"name": "cpu", "nominalQuota": 7}]}],
        }]}});
        lab.kubectl_patch(&lab.cluster_queues(), "cq", edit).await;
        let quota = async || {
            let queue = lab.cluster_queues().get("cq").await.unwrap();
            queue.data["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"]
                .clone()
        };
        // A save of another object keeps the value.
        lab.save("a/flavor.yaml", "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: other}\n")
            .await;
        let warnings = lab.warnings();
        assert!(
            warnings[0].contains("ClusterQueue/cq: spec.resourceGroups was changed by kubectl-edit and differs from the file"),
            "{warnings:?}"
        );
        assert_eq!(quota().await, 7);
        lab.save("a/queues.yaml", &queues(2, "")).await;
        let warnings = lab.warnings();
        assert!(
            warnings[0].contains("ClusterQueue/cq: spec.resourceGroups was changed by kubectl-edit and now has the value of the file again"),
            "{warnings:?}"
        );
        assert_eq!(quota().await, 2);
        let queues_api = lab.api("kueue.x-k8s.io/v1beta2", "LocalQueue", true);
        queues_api.delete("lq", &Default::default()).await.unwrap();
        lab.save("a/queues.yaml", &queues(3, "")).await;
        let warnings = lab.warnings();
        assert!(
            warnings[0].contains("LocalQueue/default/lq: the object was deleted by another client; change it in the file"),
            "{warnings:?}"
        );
    });
}

#[test]
fn a_config_map_that_kubectl_changed_is_reported() {
    let start = Start::new(&[("a/queues.yaml", &queues(1, ""))]);
    start.run(async |lab: PresetLab| {
        let data = json!({"data": {"controller_manager_config.yaml": CONFIG_HEAD}});
        let patch: Patch<ConfigMap> = Patch::Merge(serde_json::from_value(data).unwrap());
        let maps = lab.config_maps();
        maps.patch("kueue-manager-config", &PatchParams::default(), &patch)
            .await
            .unwrap();
        lab.save("a/kueue.yaml", &fair_sharing()).await;
        let summary = lab.summary();
        assert!(
            summary.contains(
                "the ConfigMap kueue-manager-config was changed by another client and is replaced"
            ),
            "{summary}"
        );
        assert_eq!(lab.config_map().await, fair_sharing());
    });
}
