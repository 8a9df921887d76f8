//! The objects that most likely make a process abort or hang: those with large numbers, large ones, and those
//! that were changed last.

use std::fmt::{self, Display};

use serde_json::Value;

use kueue_lab_apiserver::storage::{RestoredObject, RestoredState, StoredContent};

/// The number of objects that are named.
const NAMED: usize = 5;
/// The smallest count that is suspicious.
const LARGE_NUMBER: u64 = 100_000;
/// The smallest suspicious size of an object, in bytes.
const LARGE_OBJECT: usize = 256 << 10;
/// The resources that controllers and kubelets write all the time, or that the lab writes at each start.
const OF_CONTROLLERS: [&str; 9] = [
    "/events",
    "/nodes",
    "coordination.k8s.io/leases",
    "discovery.k8s.io/endpointslices",
    "events.k8s.io/events",
    "rbac.authorization.k8s.io/clusterrolebindings",
    "rbac.authorization.k8s.io/clusterroles",
    "rbac.authorization.k8s.io/rolebindings",
    "rbac.authorization.k8s.io/roles",
];
/// The namespace of the objects that the lab writes.
const NAMESPACE: &str = "kueue-system/";

/// An object that may be the cause of failed starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuspectObject {
    kind: String,
    /// `namespace/name`, or the name.
    name: String,
    reason: String,
}

impl Display for SuspectObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.kind, self.name, self.reason)
    }
}

/// The objects of a state, the most suspicious first; those that were changed last, if none is large.
pub(crate) fn suspect_objects(state: &RestoredState) -> Vec<SuspectObject> {
    let resources = state.objects.iter();
    let resources = resources.filter(|(resource, _)| !OF_CONTROLLERS.contains(&resource.as_str()));
    let objects = resources.flat_map(|(_, objects)| objects);
    let mut suspects: Vec<_> = objects.filter_map(suspicion).collect();
    suspects.sort_by(|(a, _), (b, _)| b.cmp(a));
    let is_large = |&(number, size, _): &(u64, usize, u64)| number > 0 || size > 0;
    match suspects.iter().any(|(rank, _)| is_large(rank)) {
        true => suspects.retain(|(rank, _)| is_large(rank)),
        false => suspects.retain(|(_, suspect)| !suspect.name.starts_with(NAMESPACE)),
    }
    suspects.truncate(NAMED);
    suspects.into_iter().map(|(_, suspect)| suspect).collect()
}

/// The rank of an object, the highest first: its largest number, its size, its revision.
fn suspicion(object: &RestoredObject) -> Option<((u64, usize, u64), SuspectObject)> {
    let StoredContent::Encoded { json, .. } = &object.content else {
        return None;
    };
    let content: Value = serde_json::from_slice(json).ok()?;
    let text = |pointer: &str| content.pointer(pointer).and_then(Value::as_str);
    let name = text("/metadata/name")?;
    let mut largest = None;
    if let Some(spec) = content.get("spec") {
        find_largest(spec, "spec", &mut largest);
    }
    let largest = largest.filter(|(number, _)| *number >= LARGE_NUMBER);
    let size = Some(json.len()).filter(|size| *size >= LARGE_OBJECT);
    let reason = match (&largest, size) {
        (Some((number, field)), _) => format!("{field} is {number}"),
        (None, Some(size)) => format!("it has {} KiB", size >> 10),
        (None, None) => "it was changed last".to_owned(),
    };
    let rank = (
        largest.map_or(0, |(number, _)| number),
        size.unwrap_or_default(),
        object.revision,
    );
    let suspect = SuspectObject {
        kind: text("/kind")?.to_owned(),
        name: match text("/metadata/namespace") {
            Some(namespace) => format!("{namespace}/{name}"),
            None => name.to_owned(),
        },
        reason,
    };
    Some((rank, suspect))
}

/// Finds the largest number in a value, and its path. Durations and ids of users count nothing.
fn find_largest(value: &Value, path: &str, largest: &mut Option<(u64, String)>) {
    match value {
        Value::Number(number) => {
            let number = number.as_u64().unwrap_or_default();
            if largest.as_ref().is_none_or(|(found, _)| number > *found) {
                *largest = Some((number, path.to_owned()));
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                find_largest(item, &format!("{path}[{index}]"), largest);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                if !name.ends_with("Seconds") && name != "securityContext" {
                    find_largest(field, &format!("{path}.{name}"), largest);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn stored(key: &str, revision: u64, object: &Value) -> RestoredObject {
        RestoredObject {
            key: key.to_owned(),
            revision,
            content: StoredContent::Encoded {
                json: object.to_string().into_bytes(),
                prelude: 0,
            },
        }
    }

    /// Adds an object of a namespace.
    fn add(state: &mut RestoredState, resource: &str, kind: &str, name: &str, more: &Value) {
        let mut object = json!({"kind": kind, "metadata": {"name": name, "namespace": "a"}});
        let more = more.as_object().unwrap().clone();
        object.as_object_mut().unwrap().extend(more);
        state.revision += 1;
        let stored = stored(&format!("a/{name}"), state.revision, &object);
        let objects = state.objects.entry(resource.to_owned());
        objects.or_default().push(stored);
    }

    fn named(state: &RestoredState) -> Vec<String> {
        let suspects = suspect_objects(state);
        suspects.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn large_numbers_and_large_objects_are_named_or_those_that_were_changed_last() {
        let mut state = RestoredState::default();
        let pod = json!({"spec": {
            "activeDeadlineSeconds": 900_000,
            "containers": [{"securityContext": {"runAsUser": 1_000_650_000}}],
        }});
        let set = json!({"spec": {"replicas": 3}});
        add(&mut state, "/pods", "Pod", "p", &pod);
        add(&mut state, "apps/statefulsets", "StatefulSet", "t", &set);
        add(&mut state, "/events", "Event", "e", &json!({"count": 1}));
        assert_eq!(
            named(&state),
            [
                "StatefulSet a/t: it was changed last",
                "Pod a/p: it was changed last",
            ]
        );
        let large = json!({"data": {"x": "y".repeat(300 << 10)}});
        let set = json!({"spec": {"replicas": 1_000_000_000}});
        add(&mut state, "/configmaps", "ConfigMap", "m", &large);
        add(&mut state, "apps/statefulsets", "StatefulSet", "s", &set);
        assert_eq!(
            named(&state),
            [
                "StatefulSet a/s: spec.replicas is 1000000000",
                "ConfigMap a/m: it has 300 KiB",
            ]
        );
    }
}
