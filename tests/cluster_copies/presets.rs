//! Imports of labs with presets and their samples, with names and with pseudonyms.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use jiff::SignedDuration;
use kube::Api;
use kube::api::{DynamicObject, PostParams, TypeMeta};
use kube::core::GroupVersionKind;
use kube::discovery::pinned_kind;
use kueue_lab_import::{Bundle, anonymize, import_cluster};
use kueue_lab_lab::{Lab, LabConfig, NodePools, ObjectFile, VirtualLab};
use kueue_lab_plan::{EffectKind, PlannedChange, check_import, plan_preset};
use kueue_lab_presets::{Sample, read};
use serde::Deserialize;

const PRESETS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/presets");
const NODES: &str = include_str!("../../lab/nodes.yaml");
/// The presets with other kinds than queues, Jobs and Nodes.
const IMPORTED: [&str; 9] = [
    "admission-check",
    "concurrent-admission",
    "dynamic-resource-allocation",
    "elastic-jobs",
    "multikueue",
    "pod-groups",
    "provisioning-request",
    "rayjob-gang",
    "topology-aware",
];
/// The time between two samples, and that of the copies.
const TIME: SignedDuration = SignedDuration::from_secs(5);

/// Creates the objects of a sample.
async fn submit(lab: &Lab, sample: &Sample) {
    for document in serde_yaml::Deserializer::from_str(&sample.text) {
        let value = serde_json::Value::deserialize(document).unwrap();
        let mut object: DynamicObject = serde_json::from_value(value).unwrap();
        let types = object.types.clone().unwrap();
        let TypeMeta { api_version, kind } = &types;
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let gvk = GroupVersionKind::gvk(group, version, kind);
        let (resource, _) = pinned_kind(&lab.client(), &gvk).await.unwrap();
        let namespace = object.metadata.namespace.get_or_insert("default".into());
        let api: Api<DynamicObject> = Api::namespaced_with(lab.client(), namespace, &resource);
        api.create(&PostParams::default(), &object).await.unwrap();
    }
    lab.run_until(lab.clock().now() + TIME).await;
}

/// A lab with a preset whose samples are submitted.
fn imported(preset: &str) -> Bundle {
    let source = read(Path::new(PRESETS), preset).unwrap();
    let config = |clock, entropy| {
        let mut config = LabConfig::embedded(clock, entropy, PRESETS);
        config.presets.active = Some(preset.to_owned());
        config.components.nodes = NodePools::parse(NODES).unwrap();
        config
    };
    let run = async |lab: &Lab| {
        for sample in source.samples.iter().filter(|sample| !sample.is_task) {
            submit(lab, sample).await;
        }
        let bundle = import_cluster(&lab.client(), preset, lab.clock().now()).await;
        bundle.unwrap()
    };
    VirtualLab::default().run(config, run).unwrap()
}

/// The objects of a bundle that a lab which starts from it has after some time: kinds by uid.
fn survivors(bundle: &Bundle) -> BTreeMap<String, String> {
    let file = ObjectFile::of_import(&bundle.cluster, bundle.objects.clone(), bundle.time);
    let lab = VirtualLab {
        start: file.start().unwrap(),
        ..VirtualLab::default()
    };
    let config = |clock, entropy| {
        let mut config = LabConfig::embedded(clock, entropy, PRESETS);
        config.cluster.from = Some(file);
        config.components.nodes_of_presets = false;
        config
    };
    let run = async |lab: &Lab| {
        lab.run_until(lab.clock().now() + TIME).await;
        let left = import_cluster(&lab.client(), "copy", lab.clock().now()).await;
        uids(&left.unwrap())
    };
    let before = uids(bundle);
    let mut left = lab.run(config, run).unwrap();
    left.retain(|uid, _| before.contains_key(uid));
    left
}

fn uids(bundle: &Bundle) -> BTreeMap<String, String> {
    let text = |object: &serde_json::Value, path: &str| {
        let text = object.pointer(path).and_then(|value| value.as_str());
        text.unwrap_or_default().to_owned()
    };
    let uids = bundle
        .objects
        .iter()
        .map(|o| (text(o, "/metadata/uid"), text(o, "/kind")));
    uids.filter(|(uid, _)| !uid.is_empty()).collect()
}

#[test]
fn copies_keep_the_objects_of_presets() {
    let mut kinds = BTreeSet::new();
    for preset in IMPORTED {
        let bundle = imported(preset);
        let all = uids(&bundle);
        kinds.extend(all.values().cloned());
        let anonymous = anonymize(bundle.clone());
        let differences = [&bundle, &anonymous].map(|bundle| {
            let all = check_import(bundle).unwrap();
            all.iter().map(|effect| effect.kind).collect::<Vec<_>>()
        });
        // The kubeconfigs of worker clusters are in Secrets.
        let expected = match preset {
            "multikueue" => vec![EffectKind::QueueInactive; 2],
            _ => Vec::new(),
        };
        let [named, pseudonymous] = differences;
        assert_eq!(named, expected, "{preset}");
        assert_eq!(pseudonymous, expected, "{preset} with pseudonyms");
        assert_eq!(survivors(&bundle), all, "{preset}");
        // The list of the preset's objects is left out.
        let [kept, all] = [survivors(&anonymous), all].map(|mut objects| {
            objects.retain(|_, kind| kind != "ConfigMap");
            objects
        });
        assert_eq!(kept, all, "{preset} with pseudonyms");
    }
    for kind in [
        "DeviceClass",
        "PodTemplate",
        "ProvisioningRequest",
        "ResourceClaim",
        "ResourceClaimTemplate",
        "ResourceSlice",
    ] {
        assert!(kinds.contains(kind), "no {kind} was imported");
    }
}

#[test]
fn an_unchanged_preset_with_worker_clusters_has_no_changes() {
    let preset = "multikueue";
    let bundle = imported(preset);
    let folder = Path::new(PRESETS);
    let plan = plan_preset(&bundle, PlannedChange { folder, preset }).unwrap();
    assert!(!plan.has_changes(), "{plan:#?}");
    let workers = |note: &&String| note.contains("worker clusters: ");
    assert_eq!(plan.notes.iter().find(workers), None);
}
