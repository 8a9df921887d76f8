//! Anonymizes a bundle.

use std::collections::BTreeSet;

use kueue_lab_json::ValueExt;
use serde_json::Value;

use super::pseudonyms::Pseudonyms;
use super::strings::is_no_name;
use super::walk::{Replace, walk};
use crate::apply_order::apply_order;
use crate::bundle::Bundle;
use kueue_lab_api::v1beta2::GROUP;

/// The ConfigMap with the objects that a lab has applied.
const INVENTORY: &str = "kueue-lab-presets";

/// Replaces names by pseudonyms, the same name always by the same one: names of objects and namespaces,
/// labels, images, commands and environment variables. uids, numbers, times and names of resources stay.
/// Annotations that are not Kubernetes' or Kueue's and addresses of machines are removed.
pub fn anonymize(mut bundle: Bundle) -> Bundle {
    let mut names = Names::default();
    // The list of applied objects is text with their names.
    let is_inventory = |o: &Value| o.text("/kind") == "ConfigMap" && o.name() == INVENTORY;
    bundle.objects.retain(|object| !is_inventory(object));
    // The names are collected from a copy, as the walk changes what it visits.
    for object in bundle.objects.clone().iter_mut() {
        walk_object(object, &mut names);
    }
    let mut pseudonyms = Pseudonyms::new(names.0);
    for object in &mut bundle.objects {
        walk_object(object, &mut pseudonyms);
    }
    bundle.objects.sort_by_cached_key(apply_order);
    bundle.cluster = "anonymous".to_owned();
    bundle
}

fn walk_object(object: &mut Value, replace: &mut impl Replace) {
    if object.text("/kind") == "ConfigMap" {
        // Kueue's configuration.
        return;
    }
    let is_kueue = object
        .text("/apiVersion")
        .strip_prefix(GROUP)
        .is_some_and(|rest| rest.starts_with('/'));
    walk(object, is_kueue, replace);
}

/// Collects names.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl Replace for Names {
    fn name(&mut self, name: &str) -> String {
        if !is_no_name(name) {
            self.0.insert(name.to_owned());
        }
        name.to_owned()
    }

    fn text(&mut self, text: &str) -> String {
        text.to_owned()
    }
}

impl Replace for Pseudonyms {
    fn name(&mut self, name: &str) -> String {
        self.of(name)
    }

    fn text(&mut self, text: &str) -> String {
        self.in_text(text)
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_replaced_consistently_and_nothing_else() {
        let queue = json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue",
            "metadata": {"name": "acme-research", "uid": "0b9e4c58-2f5c-4d0c-9a6f-3f9f1f0c1d2e",
                "annotations": {"acme.com/owner": "alice@acme.com"}},
            "spec": {"cohortName": "acme", "queueingStrategy": "BestEffortFIFO", "resourceGroups": [{
                "coveredResources": ["cpu", "acme.com/tpu"],
                "flavors": [{"name": "spot", "resources": [{"name": "acme.com/tpu", "nominalQuota": "9"}]}]}]},
            "status": {"conditions": [{"type": "Active", "status": "True", "reason": "Ready",
                "message": "acme-research waits for flavor spot", "lastTransitionTime": "2026-01-01T00:00:00Z"}]},
        });
        let job = json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": "train", "namespace": "Acme-ns", "labels": {
                "kueue.x-k8s.io/queue-name": "acme-research", "secret-project": "Zeus"}},
            "spec": {"template": {"spec": {"nodeSelector": {"acme.com/rack": "r7"}, "containers": [{"name": "c",
                "image": "registry.acme.com/zeus:v7", "command": ["python", "zeus.py"],
                "env": [{"name": "OWNER", "value": "Alice"}], "resources": {"requests": {"cpu": "2"}}}]}}},
        });
        let bundle = Bundle {
            cluster: "acme-prod".into(),
            time: Timestamp::UNIX_EPOCH,
            notes: Vec::new(),
            objects: vec![queue.clone(), job],
        };
        let anonymous = anonymize(bundle);
        let text = anonymous.to_yaml().to_lowercase();
        for name in [
            "acme-", "research", "alice", "zeus", "spot", "train", "owner", "python", "registry",
            "rack", "r7",
        ] {
            assert!(!text.contains(name), "{name}: {text}");
        }
        let [queue_after, job] = &anonymous.objects[..] else {
            panic!("two objects");
        };
        let name = queue_after.name();
        assert_eq!(job.label("kueue.x-k8s.io/queue-name"), Some(name));
        let flavor = queue_after.text("/spec/resourceGroups/0/flavors/0/name");
        let message = queue_after.text("/status/conditions/0/message");
        assert_eq!(message, format!("{name} waits for flavor {flavor}"));
        for kept in [
            "/metadata/uid",
            "/spec/queueingStrategy",
            "/spec/resourceGroups/0/coveredResources",
            "/spec/resourceGroups/0/flavors/0/resources",
            "/status/conditions/0/lastTransitionTime",
        ] {
            assert_eq!(queue_after.at(kept), queue.at(kept), "{kept}");
        }
        assert_eq!(
            job.text("/spec/template/spec/containers/0/resources/requests/cpu"),
            "2"
        );
    }
}
