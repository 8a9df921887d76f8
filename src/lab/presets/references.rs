//! Warnings about objects that the API accepts but that cannot admit workloads, such as references to
//! missing objects.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Taint, Toleration};
use serde::Deserialize;
use serde_json::Value;

use kueue_lab_component_helpers::toleration::{ComparisonOperators, tolerates_taint};

use super::{Finding, Manifest, ResourceKey};

/// The warnings about references of objects to others that are not among them, for objects without a cluster.
pub fn check_references(manifests: &[Manifest]) -> Vec<Finding> {
    check(manifests, &BTreeSet::new())
}

/// Checks the references of the preset's objects: each target must be in the preset or in the cluster.
pub(super) fn check(manifests: &[Manifest], in_cluster: &BTreeSet<ResourceKey>) -> Vec<Finding> {
    let check_of_workers = ResourceKey {
        group: kueue_lab_api::v1beta2::GROUP.into(),
        kind: "AdmissionCheck".into(),
        namespace: None,
        name: CHECK_OF_WORKERS.into(),
    };
    let of_workers = manifests.iter().any(|m| m.has_workers);
    let of_workers = of_workers.then_some(&check_of_workers);
    let keys = manifests.iter().map(|m| &m.key);
    let known = KnownObjects {
        keys: keys.chain(in_cluster).chain(of_workers).collect(),
    };
    manifests
        .iter()
        .flat_map(|manifest| match manifest.key.kind.as_str() {
            _ if manifest.key.group != kueue_lab_api::v1beta2::GROUP => Vec::new(),
            "LocalQueue" => local_queue(manifest, &known),
            "ClusterQueue" => cluster_queue(manifest, &known),
            "ResourceFlavor" => flavor(manifest, &known),
            "AdmissionCheck" => admission_check(manifest, &known),
            _ => Vec::new(),
        })
        .collect()
}

/// The AdmissionCheck that the lab adds to a preset with worker clusters.
const CHECK_OF_WORKERS: &str = "multikueue";

/// The kinds of Kueue that [`check`] follows references to.
pub(super) const REFERENCED_KINDS: [&str; 5] = [
    "ClusterQueue",
    "ResourceFlavor",
    "AdmissionCheck",
    "Topology",
    "ProvisioningRequestConfig",
];

struct KnownObjects<'a> {
    keys: BTreeSet<&'a ResourceKey>,
}

impl KnownObjects<'_> {
    fn has(&self, kind: &str, name: &str) -> bool {
        self.keys.iter().any(|k| k.is_kueue(kind) && k.name == name)
    }

    fn names(&self, kind: &str) -> Vec<&str> {
        let of_kind = self.keys.iter().filter(|k| k.is_kueue(kind));
        of_kind.map(|k| k.name.as_str()).collect()
    }

    /// A warning if the object does not exist, with the closest name as a suggestion.
    fn warn_if_missing(
        &self,
        from: &Manifest,
        path: &str,
        kind: &str,
        name: &str,
    ) -> Option<Finding> {
        if self.has(kind, name) {
            return None;
        }
        let finding = from.warning(path, format!("there is no {kind} {name:?}"));
        let remedy = match kueue_lab_yaml::closest(name, self.names(kind)) {
            Some(guess) => format!("did you mean {guess:?}?"),
            None => format!(
                "add one to the preset or correct the name{}",
                self.list_existing(kind)
            ),
        };
        Some(finding.remedy(remedy))
    }

    fn list_existing(&self, kind: &str) -> String {
        match self.names(kind)[..] {
            [] => String::new(),
            [one] => format!(" (there is {one})"),
            ref names => format!(" (there are {})", names.join(", ")),
        }
    }
}

fn text<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .filter(|s| !s.is_empty())
}

fn list<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn local_queue(queue: &Manifest, known: &KnownObjects<'_>) -> Vec<Finding> {
    text(&queue.object, "/spec/clusterQueue")
        .and_then(|name| known.warn_if_missing(queue, "spec.clusterQueue", "ClusterQueue", name))
        .map(|f| Finding {
            message: format!("{}, so nothing in this queue is admitted", f.message),
            ..f
        })
        .into_iter()
        .collect()
}

fn cluster_queue(queue: &Manifest, known: &KnownObjects<'_>) -> Vec<Finding> {
    let object = &queue.object;
    let mut findings = Vec::new();
    for (g, group) in list(object, "/spec/resourceGroups").iter().enumerate() {
        for (f, flavor) in list(group, "/flavors").iter().enumerate() {
            let path = format!("spec.resourceGroups[{g}].flavors[{f}].name");
            if let Some(name) = text(flavor, "/name") {
                findings.extend(known.warn_if_missing(queue, &path, "ResourceFlavor", name));
            }
        }
    }
    let checks = "/spec/admissionChecksStrategy/admissionChecks";
    for (i, check) in list(object, checks).iter().enumerate() {
        let path = format!("spec.admissionChecksStrategy.admissionChecks[{i}].name");
        if let Some(name) = text(check, "/name") {
            findings.extend(known.warn_if_missing(queue, &path, "AdmissionCheck", name));
        }
    }
    // In v1beta2 an absent selector selects nothing; `{}` selects every namespace.
    if object
        .pointer("/spec/namespaceSelector")
        .is_none_or(Value::is_null)
    {
        let message = "without namespaceSelector no namespace may use this queue";
        let finding = queue.warning("spec.namespaceSelector", message);
        findings.push(finding.remedy("set namespaceSelector: {} for all namespaces"));
    }
    findings
}

fn flavor(flavor: &Manifest, known: &KnownObjects<'_>) -> Vec<Finding> {
    let object = &flavor.object;
    let mut findings: Vec<Finding> = text(object, "/spec/topologyName")
        .and_then(|name| known.warn_if_missing(flavor, "spec.topologyName", "Topology", name))
        .into_iter()
        .collect();
    let tolerations = list(object, "/spec/tolerations");
    for (i, taint) in list(object, "/spec/nodeTaints").iter().enumerate() {
        let effect = text(taint, "/effect").unwrap_or_default();
        if effect == "PreferNoSchedule" || tolerations.iter().any(|t| tolerates(t, taint)) {
            continue;
        }
        let key = text(taint, "/key").unwrap_or_default();
        let message = format!(
            "the taint {key}:{effect} is not tolerated by the flavor's own tolerations, so only \
             workloads that tolerate it themselves get this flavor"
        );
        let path = format!("spec.nodeTaints[{i}]");
        findings.push(flavor.warning(&path, message));
    }
    findings
}

/// Whether Kueue takes the toleration for one of the taint; objects of another form do not match.
fn tolerates(toleration: &Value, taint: &Value) -> bool {
    let (toleration, taint) = (
        Toleration::deserialize(toleration),
        Taint::deserialize(taint),
    );
    matches!((toleration, taint), (Ok(toleration), Ok(taint))
        if tolerates_taint(&toleration, &taint, ComparisonOperators::Enabled))
}

fn admission_check(check: &Manifest, known: &KnownObjects<'_>) -> Vec<Finding> {
    let parameters = &check.object["spec"]["parameters"];
    match (text(parameters, "/kind"), text(parameters, "/name")) {
        (Some(kind @ "ProvisioningRequestConfig"), Some(name)) => known
            .warn_if_missing(check, "spec.parameters.name", kind, name)
            .into_iter()
            .collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SourceFile, parse};
    use kueue_lab_api::config::FeatureGates;
    use serde_json::json;

    fn warnings(text: &str) -> Vec<String> {
        let file = SourceFile {
            name: "q.yaml".into(),
            bytes: text.as_bytes().to_vec(),
        };
        let parsed = parse(&[file], &FeatureGates::default());
        assert_eq!(parsed.findings, []);
        let found = check(&parsed.manifests, &BTreeSet::new());
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn references_to_missing_objects_are_reported() {
        let found = warnings(
            "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: research-pool}\nspec:\n  namespaceSelector: {}\n  resourceGroups:\n  - coveredResources: [cpu]\n    flavors:\n    - name: ondemand\n      resources: [{name: cpu, nominalQuota: 9}]\n---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: q, namespace: team-a}\nspec:\n  clusterQueue: research-poll\n",
        );
        assert_eq!(
            found,
            [
                "q.yaml:9:7: ClusterQueue/research-pool: there is no ResourceFlavor \"ondemand\"; add one to the preset or correct the name",
                "q.yaml:16:3: LocalQueue/team-a/q: there is no ClusterQueue \"research-poll\", so nothing in this queue is admitted; did you mean \"research-pool\"?",
            ]
        );
    }

    #[test]
    fn tolerations_match_taints_as_in_the_engine() {
        let taint = json!({"key": "gpus", "value": "8", "effect": "NoSchedule"});
        for (toleration, expected) in [
            (json!({"operator": "Exists"}), true),
            (json!({"key": "gpus", "operator": "Gt", "value": "4"}), true),
            (
                json!({"key": "gpus", "operator": "Gt", "value": "8"}),
                false,
            ),
            (json!({"key": "gpus", "value": "4"}), false),
        ] {
            assert_eq!(tolerates(&toleration, &taint), expected, "{toleration}");
        }
        let (no_value, empty) = (
            json!({"key": "a"}),
            json!({"key": "a", "value": "", "effect": "NoSchedule"}),
        );
        assert!(tolerates(&no_value, &empty));
    }

    #[test]
    fn untolerated_taints_and_absent_selectors_are_reported() {
        let found = warnings(
            "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: spot}\nspec:\n  nodeTaints:\n  - {key: spot, value: \"true\", effect: NoSchedule}\n  tolerations:\n  - {key: spot-taint, operator: Exists, effect: NoSchedule}\n---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: q}\nspec: {}\n",
        );
        assert!(
            found[0].starts_with(
                "q.yaml:6:5: ResourceFlavor/spot: the taint spot:NoSchedule is not tolerated"
            ),
            "{found:?}"
        );
        assert!(
            found[1].contains("without namespaceSelector no namespace may use this queue"),
            "{found:?}"
        );
    }
}
