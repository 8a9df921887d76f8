//! [`ExistingObjects`]: the objects of Kueue's kinds that other clients created in a cluster.

use std::collections::BTreeSet;
use std::fmt;

use kube::Client;
use serde_json::{Map, Value};

use super::api_client::{ApiClient, RequestError, RestMapping};
use super::preset_label::is_managed;
use super::quantity_spelling::keep_quantity_spelling;
use super::{Finding, Manifest, ResourceKey};
use kueue_lab_api::convert::convert;
use kueue_lab_api::list_names;
use kueue_lab_api::v1beta2::{GROUP, VERSION};

/// The kinds, their plural names, and whether they are namespaced.
const KINDS: [(&str, &str, bool); 7] = [
    ("ClusterQueue", "clusterqueues", false),
    ("Cohort", "cohorts", false),
    ("LocalQueue", "localqueues", true),
    ("ResourceFlavor", "resourceflavors", false),
    ("Topology", "topologies", false),
    ("AdmissionCheck", "admissionchecks", false),
    ("WorkloadPriorityClass", "workloadpriorityclasses", false),
];
/// The versions to list, in this order. Objects are stored as v1beta2 or, by older Kueues, as v1beta1.
const VERSIONS: [&str; 2] = [VERSION, "v1beta1"];
/// The prefix of the field managers of the lab.
const LAB_MANAGER: &str = "kueue-lab";
/// The most objects that the text names.
const MAX_NAMED: usize = 10;
/// The most fields of an object that an error names.
const MAX_FIELDS: usize = 3;

/// An object that another client created.
#[derive(Clone, Debug)]
struct ExistingObject {
    key: ResourceKey,
    /// The field managers of the clients that set its fields.
    managers: BTreeSet<String>,
    object: Value,
}

/// The objects of Kueue's kinds in a cluster that the lab did not create.
#[derive(Clone, Debug, Default)]
pub struct ExistingObjects {
    objects: Vec<ExistingObject>,
    /// Kinds that could not be listed, with the reason.
    unchecked: Vec<String>,
}

/// The error of a cluster that does not answer.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ListError(#[from] RequestError);

impl ExistingObjects {
    /// Lists them. A kind that the cluster does not serve has none.
    ///
    /// # Errors
    /// The cluster does not answer.
    pub async fn list(client: &Client) -> Result<Self, ListError> {
        let remote = ApiClient {
            client: client.clone(),
        };
        let mut found = Self::default();
        for (kind, plural, namespaced) in KINDS {
            for version in VERSIONS {
                let mapping = RestMapping {
                    api_version: format!("{GROUP}/{version}"),
                    plural: plural.to_owned(),
                    namespaced,
                };
                match remote.list(&mapping, None).await {
                    Ok(items) => {
                        found.add(kind, version, items);
                        break;
                    }
                    Err(error) if error.is_not_found() => {}
                    Err(error) if error.status().is_some() => {
                        found.unchecked.push(format!("{plural} ({error})"));
                        break;
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(found)
    }

    fn add(&mut self, kind: &str, version: &str, items: Vec<Value>) {
        for mut object in items {
            // Items of a list may lack both.
            object["kind"] = kind.into();
            object["apiVersion"] = format!("{GROUP}/{version}").into();
            if is_managed(&object) {
                continue;
            }
            let (own, managers) = owners(&object);
            if own && managers.is_empty() {
                continue;
            }
            let text = |field: &str| object["metadata"][field].as_str().map(str::to_owned);
            let key = ResourceKey {
                group: GROUP.into(),
                kind: kind.into(),
                namespace: text("namespace"),
                name: text("name").unwrap_or_default(),
            };
            self.objects.push(ExistingObject {
                key,
                managers,
                object,
            });
        }
    }

    /// Whether there are none, and all kinds could be listed.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.unchecked.is_empty()
    }

    /// An error for each object of a preset that has the name of one of these objects and another value in one of its
    /// fields. Equal quantities in another spelling do not differ.
    pub fn conflicts(&self, manifests: &[Manifest]) -> Vec<Finding> {
        let conflicts = manifests.iter().filter_map(|manifest| {
            let existing = self.of_name(&manifest.key)?;
            let mut live = existing.object.clone();
            // A version that cannot be converted is compared as it is.
            let _ = convert(&mut live, VERSION);
            let object = keep_quantity_spelling(&manifest.object, &live);
            let mut fields = Vec::new();
            for field in ["metadata", "spec", "value", "description"] {
                differing_fields(field, &object[field], &live[field], &mut fields);
            }
            let first = fields.first()?;
            let message = format!(
                "the cluster has this object of {} with another value of {}",
                existing.managers_text(),
                list_names(&fields, MAX_FIELDS)
            );
            Some(manifest.error(first, message))
        });
        conflicts.collect()
    }

    fn of_name(&self, key: &ResourceKey) -> Option<&ExistingObject> {
        let default = |key: &ResourceKey| key.namespace.clone().unwrap_or_else(|| "default".into());
        self.objects.iter().find(|existing| {
            let same_namespace = match &existing.key.namespace {
                Some(namespace) => *namespace == default(key),
                None => true,
            };
            (&existing.key.group, &existing.key.kind) == (&key.group, &key.kind)
                && existing.key.name == key.name
                && same_namespace
        })
    }
}

impl fmt::Display for ExistingObjects {
    /// The objects with their owners, at most ten of them, and the kinds that could not be checked.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = Vec::new();
        if !self.objects.is_empty() {
            let objects = self.objects.iter();
            let names = objects.map(|o| format!("{} ({})", o.key, o.managers_text()));
            let names: Vec<String> = names.collect();
            lines.push(format!(
                "the cluster has objects of Kueue that the lab did not create: {}",
                list_names(&names, MAX_NAMED)
            ));
        }
        if !self.unchecked.is_empty() {
            let kinds = self.unchecked.join(", ");
            lines.push(format!(
                "whether it has objects of these kinds could not be checked: {kinds}"
            ));
        }
        f.write_str(&lines.join("\n"))
    }
}

impl ExistingObject {
    /// The managers, such as `helm and kubectl`.
    fn managers_text(&self) -> String {
        let managers: Vec<&str> = self.managers.iter().map(String::as_str).collect();
        match managers.is_empty() {
            true => "an unknown client".to_owned(),
            false => managers.join(" and "),
        }
    }
}

/// Whether the lab set fields of an object, and the other field managers that did. Status and finalizers are those of
/// controllers.
fn owners(object: &Value) -> (bool, BTreeSet<String>) {
    let entries = object["metadata"]["managedFields"].as_array();
    let entries = entries.map_or(&[][..], Vec::as_slice).iter();
    let of_clients = entries.filter(|entry| {
        let is_subresource = entry["subresource"].as_str().is_some_and(|s| !s.is_empty());
        !is_subresource && !sets_finalizers_only(&entry["fieldsV1"])
    });
    let managers: BTreeSet<String> = of_clients
        .filter_map(|entry| entry["manager"].as_str().map(str::to_owned))
        .collect();
    let (own, others): (BTreeSet<String>, BTreeSet<String>) = managers
        .into_iter()
        .partition(|manager| manager.starts_with(LAB_MANAGER));
    (!own.is_empty(), others)
}

fn sets_finalizers_only(fields: &Value) -> bool {
    let keys = |value: &Value| -> Vec<String> {
        let fields = value.as_object().map(Map::keys);
        fields.map_or_else(Vec::new, |keys| keys.cloned().collect())
    };
    keys(fields) == ["f:metadata"] && keys(&fields["f:metadata"]) == ["f:finalizers"]
}

/// The fields of `file` whose values `live` does not have. Fields that only `live` has are defaults, or those of its
/// owner.
fn differing_fields(path: &str, file: &Value, live: &Value, fields: &mut Vec<String>) {
    if file == live || (live.is_null() && is_zero(path, file)) {
        return;
    }
    match (file, live) {
        (Value::Object(file), Value::Object(live)) => {
            for (name, value) in file {
                let live = live.get(name).unwrap_or(&Value::Null);
                differing_fields(&format!("{path}.{name}"), value, live, fields);
            }
        }
        (Value::Array(file), Value::Array(live)) if file.len() == live.len() => {
            for (index, item) in file.iter().enumerate() {
                let same = match item.get("name").filter(|name| name.is_string()) {
                    Some(name) => live.iter().find(|item| item.get("name") == Some(name)),
                    None => live.get(index),
                };
                let same = same.unwrap_or(&Value::Null);
                differing_fields(&format!("{path}[{index}]"), item, same, fields);
            }
        }
        _ => fields.push(path.to_owned()),
    }
}

/// Whether a value is that of an absent field. An empty selector selects all, an absent one nothing.
fn is_zero(path: &str, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => {
            !path.ends_with("Selector") && fields.iter().all(|(name, value)| is_zero(name, value))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{SourceFile, parse};
    use kueue_lab_api::config::FeatureGates;

    const QUEUE: &str = "
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: research}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu, memory]
    flavors:
    - name: plain
      resources: [{name: cpu, nominalQuota: 8}, {name: memory, nominalQuota: 1024Mi}]
";

    fn manifests(text: &str) -> Vec<Manifest> {
        let file = SourceFile {
            name: "q.yaml".into(),
            bytes: text.into(),
        };
        parse(&[file], &FeatureGates::default()).manifests
    }

    fn live(name: &str, manager: &str, cpu: &str) -> Value {
        json!({
            "metadata": {"name": name, "managedFields": [
                {"manager": manager, "operation": "Update", "fieldsV1": {"f:spec": {}}},
                {"manager": "kueue", "operation": "Update", "subresource": "status", "fieldsV1": {"f:status": {}}},
                {"manager": "manager", "operation": "Update", "fieldsV1": {"f:metadata": {"f:finalizers": {}}}},
            ]},
            "spec": {"namespaceSelector": {}, "stopPolicy": "None", "resourceGroups": [{
                "coveredResources": ["cpu", "memory"], "flavors": [{"name": "plain", "resources": [
                    {"name": "cpu", "nominalQuota": cpu}, {"name": "memory", "nominalQuota": "1Gi"},
                ]}],
            }]},
        })
    }

    fn existing(items: Vec<Value>) -> ExistingObjects {
        let mut found = ExistingObjects::default();
        found.add("ClusterQueue", VERSION, items);
        found
    }

    #[test]
    fn objects_are_named_with_their_owners() {
        let mut items: Vec<Value> = (0..11)
            .map(|index| live(&format!("q{index}"), "helm", "8"))
            .collect();
        // Those of the lab are not named.
        items.push(live("demo", "kueue-lab-scenario", "8"));
        let mut preset = live("preset", "kueue-lab-presets", "8");
        preset["metadata"]["labels"] = json!({"kueue-lab.dev/preset": "p"});
        items.push(preset);
        let mut found = existing(items);
        let text = found.to_string();
        let begin = "the cluster has objects of Kueue that the lab did not create: ClusterQueue/q0 (helm), ";
        assert!(text.starts_with(begin), "{text}");
        assert!(
            text.ends_with("ClusterQueue/q9 (helm) and 1 more"),
            "{text}"
        );
        found.unchecked.push("cohorts (forbidden)".into());
        let text = found.to_string();
        let end =
            "\nwhether it has objects of these kinds could not be checked: cohorts (forbidden)";
        assert!(text.ends_with(end), "{text}");
        assert!(existing(Vec::new()).is_empty() && !found.is_empty());
    }

    #[test]
    fn an_object_of_the_same_name_conflicts_if_a_field_differs() {
        let conflicts = |text: &str, object: Value| {
            let conflicts = existing(vec![object]).conflicts(&manifests(text));
            conflicts
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
        };
        // Another spelling of quantities, and a field that only the cluster has.
        assert!(conflicts(QUEUE, live("research", "kubectl", "8")).is_empty());
        assert!(conflicts(QUEUE, live("other", "kubectl", "9")).is_empty());
        assert_eq!(
            conflicts(QUEUE, live("research", "argocd-controller", "9")),
            [
                "q.yaml:11:31: ClusterQueue/research: the cluster has this object of argocd-controller with another \
                 value of spec.resourceGroups[0].flavors[0].resources[0].nominalQuota"
            ]
        );
        let in_cohort = QUEUE.replace("spec:\n", "spec:\n  cohortName: team\n");
        let found = conflicts(&in_cohort, live("research", "kubectl", "8"));
        assert!(
            found[0].ends_with("another value of spec.cohortName"),
            "{found:?}"
        );
        let mut nowhere = live("research", "kubectl", "8");
        nowhere["spec"]["namespaceSelector"] = Value::Null;
        let found = conflicts(QUEUE, nowhere);
        assert!(found[0].ends_with("spec.namespaceSelector"), "{found:?}");
    }
}
