//! Admission of pods, of objects with a pod template, and of namespaces with labels of PodSecurity.

use std::collections::{BTreeMap, HashSet};

use kueue_lab_json::ValueExt;
use serde_json::Value;

use super::evaluator::{PodFields, evaluate};
use super::policy::{Level, LevelVersion, Policy};
use crate::admission::plugins::PluginContext;
use crate::plugins::Operation;
use kueue_lab_apimachinery::api_error::ApiError;

/// The number of pods that an update of a namespace checks.
const MAX_PODS_TO_CHECK: usize = 3000;

/// Subresources of pods that do not change a pod's spec.
const IGNORED_POD_SUBRESOURCES: [&str; 8] = [
    "exec",
    "attach",
    "binding",
    "eviction",
    "log",
    "portforward",
    "proxy",
    "status",
];

/// Rejects pods that the policy of their namespace forbids, and warns of objects whose pods it
/// would forbid.
pub(in super::super) fn validate(
    write: &PluginContext<'_>,
    object: &Value,
) -> Result<(), ApiError> {
    let request = write.request;
    match (request.group, request.resource, request.subresource) {
        ("", "namespaces", "") => validate_namespace(write, object),
        ("", "pods", subresource) if !IGNORED_POD_SUBRESOURCES.contains(&subresource) => {
            validate_pod(write, object)
        }
        (group, resource, "") => {
            if let Some(template) = template_path(group, resource) {
                validate_pod_controller(write, object.at(template));
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The pod template of a resource.
fn template_path(group: &str, resource: &str) -> Option<&'static str> {
    match (group, resource) {
        ("", "podtemplates") => Some("/template"),
        ("", "replicationcontrollers")
        | ("apps", "replicasets" | "deployments" | "statefulsets" | "daemonsets")
        | ("batch", "jobs") => Some("/spec/template"),
        ("batch", "cronjobs") => Some("/spec/jobTemplate/spec/template"),
        _ => None,
    }
}

fn validate_namespace(write: &PluginContext<'_>, namespace: &Value) -> Result<(), ApiError> {
    let request = write.request;
    let (policy, errors) = Policy::of_namespace(namespace);
    let (old_policy, old_errors) = match request.old_object {
        Some(old) => Policy::of_namespace(old),
        None => Default::default(),
    };
    // Invalid labels that do not change are kept.
    if !errors.is_empty() && errors != old_errors {
        let name = namespace.name();
        return Err(ApiError::invalid("", "Namespace", name, &errors));
    }
    let (enforce, before) = (policy.enforce, old_policy.enforce);
    let is_relaxed = enforce.version == before.version && enforce.level <= before.level;
    if request.operation == Operation::Update && enforce.level != Level::Privileged && !is_relaxed {
        warn_of_pods_in_namespace(write, namespace.name(), enforce);
    }
    Ok(())
}

/// Pods that violate a policy for the same reasons.
struct PodCount<'a> {
    /// The first by name.
    name: &'a str,
    others: usize,
}

/// Warns of pods in the namespace that violate the new policy.
fn warn_of_pods_in_namespace(write: &PluginContext<'_>, namespace: &str, enforce: LevelVersion) {
    let pods = write.reader.list("", "pods", namespace);
    // One pod of each controller first.
    let mut controllers = HashSet::new();
    let (mut prioritized, duplicates): (Vec<&Value>, Vec<&Value>) =
        pods.iter().map(AsRef::as_ref).partition(|pod| {
            let mut owners = pod.list("/metadata/ownerReferences").iter();
            let controller = owners.find(|owner| owner.flag("/controller"));
            controller.is_none_or(|owner| controllers.insert(owner.text("/uid").to_owned()))
        });
    prioritized.extend(duplicates);
    let total = prioritized.len();
    prioritized.truncate(MAX_PODS_TO_CHECK);
    if prioritized.len() < total {
        let checked = prioritized.len();
        (write.warn)(format!(
            "new PodSecurity enforce level only checked against the first {checked} of {total} existing pods"
        ));
    }
    let mut by_reasons: BTreeMap<String, PodCount<'_>> = BTreeMap::new();
    for pod in prioritized {
        let violations = evaluate(enforce, fields(pod));
        if violations.is_empty() {
            continue;
        }
        let name = pod.name();
        let count = by_reasons.entry(violations.reasons());
        let count = count.and_modify(|count| count.others += 1);
        let count = count.or_insert(PodCount { name, others: 0 });
        count.name = count.name.min(name);
    }
    if by_reasons.is_empty() {
        return;
    }
    (write.warn)(format!(
        "existing pods in namespace {namespace:?} violate the new PodSecurity enforce level \"{enforce}\""
    ));
    let mut warnings: Vec<String> = by_reasons
        .iter()
        .map(|(reasons, PodCount { name, others })| match others {
            0 => format!("{name}: {reasons}"),
            1 => format!("{name} (and 1 other pod): {reasons}"),
            _ => format!("{name} (and {others} other pods): {reasons}"),
        })
        .collect();
    warnings.sort();
    warnings.into_iter().for_each(write.warn);
}

fn fields(pod: &Value) -> PodFields<'_> {
    PodFields {
        metadata: pod.at("/metadata"),
        spec: pod.at("/spec"),
    }
}

/// The policy of the namespace of the request.
fn policy(write: &PluginContext<'_>) -> Policy {
    let namespace = write.request.namespace;
    let namespace = write.reader.get("", "namespaces", "", namespace);
    namespace.map_or_else(Policy::default, |n| Policy::of_namespace(&n).0)
}

fn validate_pod(write: &PluginContext<'_>, pod: &Value) -> Result<(), ApiError> {
    let policy = policy(write);
    if policy.is_privileged() {
        return Ok(());
    }
    if write.request.operation == Operation::Update
        && write
            .request
            .old_object
            .is_some_and(|old| !is_significant_update(pod, old))
    {
        return Ok(());
    }
    let violations = evaluate(policy.enforce, fields(pod));
    if !violations.is_empty() {
        let message = format!(
            "violates PodSecurity \"{}\": {}",
            policy.enforce,
            violations.details()
        );
        return Err(ApiError::forbidden("", "pods", pod.name(), &message));
    }
    warn(write, policy.warn, fields(pod));
    Ok(())
}

fn validate_pod_controller(write: &PluginContext<'_>, template: &Value) {
    let policy = policy(write);
    if policy.warn.level == Level::Privileged || template.is_null() {
        return;
    }
    warn(write, policy.warn, fields(template));
}

fn warn(write: &PluginContext<'_>, policy: LevelVersion, pod: PodFields<'_>) {
    let violations = evaluate(policy, pod);
    if !violations.is_empty() {
        let details = violations.details();
        (write.warn)(format!("would violate PodSecurity \"{policy}\": {details}"));
    }
}

/// Whether an update of a pod changes an image or the set of containers.
fn is_significant_update(pod: &Value, old: &Value) -> bool {
    let image = |container: &Value| container.text("/image").to_owned();
    for list in ["/spec/containers", "/spec/initContainers"] {
        let (new, old) = (pod.list(list), old.list(list));
        if new.len() != old.len() || new.iter().map(image).ne(old.iter().map(image)) {
            return true;
        }
    }
    const EPHEMERAL: &str = "/spec/ephemeralContainers";
    pod.list(EPHEMERAL).iter().any(|container| {
        let mut before = old.list(EPHEMERAL).iter();
        let before = before.find(|other| other.text("/name") == container.text("/name"));
        before.is_none_or(|other| image(other) != image(container))
    })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::admission::plugins::fake::{Objects, request, with_warnings};
    use crate::plugins::AdmissionRequest;
    use crate::registry::object_reader::ObjectReader;

    fn namespace(labels: &Value) -> (&'static str, &'static str, Value) {
        let labels: serde_json::Map<String, Value> = labels
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| (format!("pod-security.kubernetes.io/{name}"), value.clone()))
            .collect();
        let object = json!({"metadata": {"name": "n", "labels": labels}});
        ("", "namespaces", object)
    }

    fn pod(name: &str, spec: &Value) -> Value {
        json!({"metadata": {"name": name, "namespace": "n"}, "spec": spec})
    }

    fn outcome(
        objects: &Objects,
        request: &AdmissionRequest<'_>,
        object: &Value,
    ) -> (Option<String>, Vec<String>) {
        let (result, warnings) = with_warnings(objects, request, |w| validate(w, object));
        (result.err().map(|error| error.message), warnings)
    }

    #[test]
    fn pods_are_rejected_or_warned_of() {
        let host = pod("p", &json!({"hostNetwork": true, "containers": []}));
        let create = request("", "pods", Operation::Create);
        let details = "host namespaces (hostNetwork=true)";
        let labels = json!({"enforce": "baseline", "enforce-version": "v1.30"});
        let objects = Objects(vec![namespace(&labels)]);
        let message =
            format!("pods \"p\" is forbidden: violates PodSecurity \"baseline:v1.30\": {details}");
        assert_eq!(outcome(&objects, &create, &host), (Some(message), vec![]));
        let objects = Objects(vec![namespace(&json!({"warn": "restricted"}))]);
        let warning = format!("would violate PodSecurity \"restricted:latest\": {details}");
        assert_eq!(outcome(&objects, &create, &host), (None, vec![warning]));
        let privileged = Objects(vec![namespace(&json!({"audit": "restricted"}))]);
        assert_eq!(outcome(&privileged, &create, &host), (None, vec![]));
    }

    #[test]
    fn only_updates_of_images_are_significant() {
        let objects = Objects(vec![namespace(&json!({"enforce": "baseline"}))]);
        let spec =
            |image: &str| json!({"hostPID": true, "containers": [{"name": "c", "image": image}]});
        let old = pod("p", &spec("a"));
        let update = |subresource| AdmissionRequest {
            old_object: Some(&old),
            subresource,
            ..request("", "pods", Operation::Update)
        };
        assert_eq!(outcome(&objects, &update(""), &old).0, None);
        let changed = pod("p", &spec("b"));
        assert!(outcome(&objects, &update(""), &changed).0.is_some());
        assert_eq!(outcome(&objects, &update("status"), &changed).0, None);
        let mut debugged = old.clone();
        debugged["spec"]["ephemeralContainers"] = json!([{"name": "d", "image": "x"}]);
        let update = update("ephemeralcontainers");
        assert!(outcome(&objects, &update, &debugged).0.is_some());
    }

    #[test]
    fn pod_templates_are_only_warned_of() {
        let objects = Objects(vec![namespace(&json!({"enforce": "baseline"}))]);
        let template = json!({"spec": {"hostIPC": true}});
        let warning =
            "would violate PodSecurity \"baseline:latest\": host namespaces (hostIPC=true)";
        for (group, resource, object) in [
            ("batch", "jobs", json!({"spec": {"template": template}})),
            (
                "apps",
                "deployments",
                json!({"spec": {"template": template}}),
            ),
            (
                "batch",
                "cronjobs",
                json!({"spec": {"jobTemplate": {"spec": {"template": template}}}}),
            ),
            ("", "podtemplates", json!({"template": template})),
        ] {
            let create = request(group, resource, Operation::Create);
            let expected = (None, vec![warning.to_owned()]);
            assert_eq!(outcome(&objects, &create, &object), expected, "{resource}");
            let status = AdmissionRequest {
                subresource: "status",
                ..create
            };
            assert_eq!(outcome(&objects, &status, &object), (None, vec![]));
        }
        let without = request("", "replicationcontrollers", Operation::Create);
        assert_eq!(
            outcome(&objects, &without, &json!({"spec": {}})),
            (None, vec![])
        );
    }

    #[test]
    fn a_namespace_needs_valid_labels_and_warns_of_its_pods() {
        let of_owner = |name: &str, spec: &Value| {
            let mut pod = pod(name, spec);
            pod["metadata"]["ownerReferences"] = json!([{"uid": "u", "controller": true}]);
            ("", "pods", pod)
        };
        let (host, plain) = (json!({"hostNetwork": true}), json!({}));
        let objects = Objects(vec![
            of_owner("c", &host),
            of_owner("b", &host),
            ("", "pods", pod("d", &host)),
            (
                "",
                "pods",
                pod(
                    "a",
                    &json!({"hostPID": true, "volumes": [{"name": "v", "hostPath": {}}]}),
                ),
            ),
            ("", "pods", pod("e", &plain)),
        ]);
        let old = namespace(&json!({})).2;
        let new = namespace(&json!({"enforce": "baseline"})).2;
        let update = AdmissionRequest {
            old_object: Some(&old),
            ..request("", "namespaces", Operation::Update)
        };
        let (error, warnings) = outcome(&objects, &update, &new);
        assert_eq!(error, None);
        assert_eq!(
            warnings,
            [
                "existing pods in namespace \"n\" violate the new PodSecurity enforce level \"baseline:latest\"",
                "a: host namespaces, hostPath volumes",
                "b (and 2 other pods): host namespaces",
            ]
        );
        // A relaxed level, or one that does not change.
        let relaxed = AdmissionRequest {
            old_object: Some(&new),
            ..update.clone()
        };
        assert_eq!(outcome(&objects, &relaxed, &old), (None, vec![]));
        assert_eq!(outcome(&objects, &relaxed, &new), (None, vec![]));
        let invalid = namespace(&json!({"warn": "all"})).2;
        let (error, _) = outcome(&objects, &update, &invalid);
        assert_eq!(
            error.unwrap(),
            "Namespace \"n\" is invalid: metadata.labels[pod-security.kubernetes.io/warn]: Invalid value: \"all\": must be one of privileged, baseline, restricted"
        );
        let unchanged = AdmissionRequest {
            old_object: Some(&invalid),
            ..update.clone()
        };
        assert_eq!(outcome(&objects, &unchanged, &invalid), (None, vec![]));
    }

    /// Counts the reads of stored objects.
    struct Counting<'a>(&'a Objects, Cell<usize>);

    impl ObjectReader for Counting<'_> {
        fn get(&self, group: &str, resource: &str, ns: &str, name: &str) -> Option<Arc<Value>> {
            self.1.set(self.1.get() + 1);
            self.0.get(group, resource, ns, name)
        }

        fn list(&self, group: &str, resource: &str, ns: &str) -> Vec<Arc<Value>> {
            self.1.set(self.1.get() + 1000);
            self.0.list(group, resource, ns)
        }
    }

    #[test]
    fn a_namespace_without_labels_costs_one_look_up() {
        let objects = Objects(vec![namespace(&json!({}))]);
        let counting = Counting(&objects, Cell::new(0));
        let spec = json!({"hostNetwork": true});
        let (pod, create) = (pod("p", &spec), request("", "pods", Operation::Create));
        let (result, warnings) = with_warnings(&counting, &create, |w| validate(w, &pod));
        assert_eq!((result, warnings), (Ok(()), vec![]));
        assert_eq!(counting.1.get(), 1);
        let object = namespace(&json!({})).2;
        let update = AdmissionRequest {
            old_object: Some(&object),
            ..request("", "namespaces", Operation::Update)
        };
        with_warnings(&counting, &update, |w| validate(w, &object))
            .0
            .unwrap();
        let node = request("", "nodes", Operation::Create);
        with_warnings(&counting, &node, |w| validate(w, &json!({})))
            .0
            .unwrap();
        assert_eq!(counting.1.get(), 1);
    }
}
