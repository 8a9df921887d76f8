//! Anonymizes a bundle.

use std::collections::BTreeSet;

use kueue_lab_json::ValueExt;
use serde_json::Value;

use super::configuration::{configuration, walk_configuration};
use super::pseudonyms::Pseudonyms;
use super::strings::{is_no_name, is_public_domain};
use super::visit_names::{NameReplacer, visit_names};
use crate::apply_order::apply_order;
use crate::bundle::Bundle;
use crate::job_kinds::{JOBS_OF_OTHER_KINDS, is_note_on_kind};
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::GROUP;

/// The conditions of Workloads whose messages are Kueue's. That of `Finished` is the job's.
const WORKLOAD_CONDITIONS: [&str; 11] = [
    c::QUOTA_RESERVED,
    c::ADMITTED,
    c::PODS_READY,
    c::EVICTED,
    c::PREEMPTED,
    c::REQUEUED,
    c::DEACTIVATION_TARGET,
    c::WAITING_FOR_REPLACEMENT_PODS,
    c::BLOCKED_ON_PREEMPTION_GATES,
    c::PREEMPTION_GATED,
    c::MULTI_KUEUE_MANAGER_QUOTA_AUTOMATION,
];

/// The ConfigMap with the objects that a lab has applied.
const INVENTORY: &str = "kueue-lab-presets";

/// Replaces names by pseudonyms, the same name always by the same one: names of objects and namespaces,
/// labels, images, commands and environment variables. uids, numbers, times and names of resources stay.
/// Annotations that are not Kubernetes' or Kueue's, addresses of machines, descriptions and messages that are
/// not Kueue's are removed.
pub fn anonymize(mut bundle: Bundle) -> Bundle {
    let mut names = Names::default();
    // The list of applied objects is text with their names.
    let is_inventory = |o: &Value| o.text("/kind") == "ConfigMap" && o.name() == INVENTORY;
    bundle.objects.retain(|object| !is_inventory(object));
    // The names are collected from a copy, as the visit replaces them.
    for object in bundle.objects.clone().iter_mut() {
        walk_object(object, &mut names);
    }
    let mut pseudonyms = Pseudonyms::new(names.0);
    let is_configuration = |o: &&Value| o.text("/kind") == "ConfigMap";
    let mut configurations = bundle.objects.iter().filter(is_configuration);
    if configurations.any(|map| configuration(map).is_none()) {
        let note = "Kueue's configuration is no YAML and is left out";
        bundle.notes.push(note.to_owned());
    }
    for note in bundle.notes.iter_mut().filter(|note| is_note_on_kind(note)) {
        JOBS_OF_OTHER_KINDS.clone_into(note);
    }
    bundle.notes.dedup();
    for object in &mut bundle.objects {
        walk_object(object, &mut pseudonyms);
    }
    bundle.objects.sort_by_cached_key(apply_order);
    bundle.cluster = "anonymous".to_owned();
    bundle
}

fn walk_object(object: &mut Value, replace: &mut impl NameReplacer) {
    let is_kueue = object
        .text("/apiVersion")
        .strip_prefix(GROUP)
        .is_some_and(|rest| rest.starts_with('/'));
    let conditions: &[&str] = match object.text("/kind") {
        "ConfigMap" => return walk_configuration(object, replace),
        "Workload" if is_kueue => &WORKLOAD_CONDITIONS,
        "ClusterQueue" | "LocalQueue" if is_kueue => &[c::ACTIVE],
        _ => &[],
    };
    let public_name = match object.text("/kind") {
        "DeviceClass" if is_public_domain(object.name()) => Some(object.name().to_owned()),
        _ => None,
    };
    if public_name.is_some() {
        object["metadata"]["name"] = Value::Null;
    }
    visit_names(object, conditions, replace);
    if let Some(name) = public_name {
        object["metadata"]["name"] = name.into();
    }
}

/// Collects names.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl NameReplacer for Names {
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

impl NameReplacer for Pseudonyms {
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
    use kueue_lab_api::config::CONFIG_MAP_KEY;
    use serde_json::json;

    use super::*;
    use crate::job_kinds::note_on_kind;

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

    fn replaced(objects: Vec<Value>) -> Bundle {
        anonymize(Bundle {
            cluster: "prod".into(),
            time: Timestamp::UNIX_EPOCH,
            notes: vec![note_on_kind("zeuscorp.com", "ZeusJob")],
            objects,
        })
    }

    #[test]
    fn names_of_kubernetes_and_kueue_stay() {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "zeus", "namespace": "team", "finalizers": ["kueue.x-k8s.io/managed"]},
            "spec": {"schedulerName": "default-scheduler", "schedulingGates": [
                {"name": "kueue.x-k8s.io/admission"}, {"name": "kueue.x-k8s.io/topology"}],
                "containers": [{"name": "c", "image": "nvidia.com/zeus", "env": [{"name": "NODE",
                    "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}}}]}]},
        });
        let job = json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "zeus", "namespace": "team"},
            "spec": {"managedBy": "kueue.x-k8s.io/multikueue", "completionMode": "NonIndexed"},
        });
        let config = json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ProvisioningRequestConfig",
            "metadata": {"name": "zeus"},
            "spec": {"provisioningClassName": "check-capacity.autoscaling.x-k8s.io"},
        });
        let class = json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu.nvidia.com"},
            "spec": {"selectors": [{"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}]},
        });
        let bundle = replaced(vec![
            pod.clone(),
            job.clone(),
            config.clone(),
            class.clone(),
        ]);
        let after = |kind: &str| {
            let mut objects = bundle.objects.iter();
            objects.find(|o| o["kind"] == kind).unwrap()
        };
        for kept in [
            "/metadata/finalizers",
            "/spec/schedulerName",
            "/spec/schedulingGates",
            "/spec/containers/0/env/0/valueFrom",
        ] {
            assert_eq!(after("Pod").at(kept), pod.at(kept), "{kept}");
        }
        assert_eq!(after("Job")["spec"], job["spec"]);
        assert_eq!(after("ProvisioningRequestConfig")["spec"], config["spec"]);
        assert_eq!(after("DeviceClass"), &class);
        assert!(!bundle.to_yaml().contains("zeus"));
        assert_eq!(bundle.notes, [JOBS_OF_OTHER_KINDS]);
    }

    #[test]
    fn free_text_and_private_domains_are_replaced() {
        let message = "Denied by Alice Smith of ZeusCorp billing https://billing.zeuscorp.com/42";
        let workload = json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
            "metadata": {"name": "wl", "namespace": "team", "finalizers": ["zeuscorp.com/cleanup"]},
            "spec": {"podSets": [{"name": "main", "template": {"spec": {
                "volumes": [{"name": "v", "nfs": {"server": "Zeusfiler", "path": "/Zeus"}}],
                "tolerations": [{"key": "zeus.io/p", "operator": "Equal", "value": "ProjectZeus", "effect": "NoSchedule"}]}}}]},
            "status": {"admissionChecks": [{"name": "budget", "state": "Rejected", "message": message}],
                "conditions": [
                    {"type": "QuotaReserved", "status": "False", "reason": "Pending", "message": "no quota in budget"},
                    {"type": "Finished", "status": "True", "reason": "Failed", "message": message},
                    {"type": "ZeusReady", "status": "True", "reason": "Zeus", "message": message}]},
        });
        let check = json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "AdmissionCheck", "metadata": {"name": "budget"},
            "spec": {"controllerName": "zeuscorp.com/budget-controller",
                "parameters": {"apiGroup": "zeuscorp.com", "kind": "ZeusBudget", "name": "b"}},
            "status": {"conditions": [{"type": "Active", "status": "True", "reason": "Active", "message": message}]},
        });
        let class = json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "p"},
            "value": 1, "description": "Zeus",
        });
        let bundle = replaced(vec![workload, check, class]);
        let text = bundle.to_yaml().to_lowercase();
        for leak in [
            "alice",
            "zeuscorp",
            "zeusfiler",
            "projectzeus",
            "/zeus",
            "zeusbudget",
        ] {
            assert!(!text.contains(leak), "{leak}: {text}");
        }
        let mut objects = bundle.objects.iter();
        let workload = objects.find(|o| o["kind"] == "Workload").unwrap();
        let check = bundle
            .objects
            .iter()
            .find(|o| o["kind"] == "AdmissionCheck");
        let check = check.unwrap().name();
        assert_eq!(workload.text("/status/admissionChecks/0/name"), check);
        let toleration = workload.at("/spec/podSets/0/template/spec/tolerations/0");
        assert_eq!(
            (&toleration["operator"], &toleration["effect"]),
            (&json!("Equal"), &json!("NoSchedule"))
        );
        let waits = workload.text("/status/conditions/0/message");
        assert_eq!(waits, format!("no quota in {check}"));
    }

    #[test]
    fn addresses_of_hosts_are_replaced() {
        let template = json!({"spec": {
            "hostAliases": [{"ip": "10.7.3.9", "hostnames": ["zeusdb"]}],
            "dnsPolicy": "None",
            "dnsConfig": {"nameservers": ["10.7.0.53", "fd00:7::53"], "searches": ["zeus.internal"]},
            "containers": [{"name": "c", "env": [{"name": "DB", "value": "10.7.3.9"}],
                "livenessProbe": {"tcpSocket": {"host": "10.7.3.10", "port": 80}}}],
        }});
        let job = json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": "j", "namespace": "team", "labels": {"zeus.io/host": "10.7.3.11"}},
            "spec": {"template": template},
        });
        let bundle = replaced(vec![job]);
        let text = bundle.to_yaml();
        for leak in ["10.7.", "fd00", "zeus"] {
            assert!(!text.contains(leak), "{leak}: {text}");
        }
        // A Pod with the DNS policy None needs one.
        let mut objects = bundle.objects.iter();
        let job = objects.find(|o| o["kind"] == "Job").unwrap();
        let servers = job.at("/spec/template/spec/dnsConfig/nameservers");
        assert_eq!(servers, &json!(["192.0.2.1", "192.0.2.1"]));
    }

    #[test]
    fn the_configuration_has_the_pseudonyms_of_the_objects() {
        let text = "# of Alice\nmanagedJobsNamespaceSelector:\n  matchLabels: {zeus.io/managed: \"yes\"}\n\
            integrations: {frameworks: [batch/job], labelKeysToCopy: [zeus.io/team]}\n\
            waitForPodsReady: {timeout: 5m, requeuingStrategy: {timestamp: Eviction}}\n";
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "kueue-manager-config", "namespace": "kueue-system"},
            "data": {CONFIG_MAP_KEY: text, "other": "Alice"},
        });
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": "team", "labels": {"zeus.io/managed": "yes"}},
        });
        let bundle = replaced(vec![map, namespace]);
        let after = |kind: &str| {
            let mut objects = bundle.objects.iter();
            objects.find(|o| o["kind"] == kind).unwrap()
        };
        let map = after("ConfigMap");
        assert_eq!(map.name(), "kueue-manager-config");
        let data = map["data"].as_object().unwrap();
        assert_eq!(data.len(), 1);
        let configuration = configuration(map).unwrap();
        assert_eq!(
            configuration.at("/managedJobsNamespaceSelector/matchLabels"),
            after("Namespace").at("/metadata/labels")
        );
        assert_eq!(
            configuration.at("/integrations/frameworks"),
            &json!(["batch/job"])
        );
        assert_eq!(
            configuration.text("/waitForPodsReady/requeuingStrategy/timestamp"),
            "Eviction"
        );
        let text = bundle.to_yaml().to_lowercase();
        assert!(!text.contains("zeus") && !text.contains("alice"), "{text}");
    }
}
