//! [`ChangeScope`]: the objects of a cluster that a plan needs beyond an import.

use std::collections::BTreeSet;

use kube::core::ApiResource;
use kueue_lab_api::config::{CONFIG_MAP_KEY, Configuration, FRAMEWORKS, load};
use kueue_lab_api::v1beta2::GROUP;
use kueue_lab_json::ValueExt;
use serde_json::Value;

use super::cluster_reader::{Access, ClusterReader};
use super::error::ImportError;
use super::job_kinds::job_resource;
use super::named_objects::{NamedObjects, ObjectName, applied_objects};

/// The API groups of Kubernetes itself that a lab serves, except those of webhooks and extension API servers: a
/// copy of a cluster cannot call them.
const BUILT_IN_GROUPS: [&str; 14] = [
    "",
    "apiextensions.k8s.io",
    "apps",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
];

/// The kind that defines others.
const DEFINITION: &str = "CustomResourceDefinition";

/// Which objects a copy of a cluster can have, and therefore compare.
#[derive(Clone, Debug, Default)]
pub struct ComparableObjects {
    /// Those that it can have, definitions of kinds first.
    pub objects: Vec<ObjectName>,
    /// Secrets, and those of kinds that a lab does not serve.
    pub others: Vec<ObjectName>,
}

impl ComparableObjects {
    /// Divides the objects of a change.
    pub fn of(names: impl IntoIterator<Item = ObjectName>) -> Self {
        let names: BTreeSet<ObjectName> = names.into_iter().collect();
        let (definitions, others): (Vec<_>, Vec<_>) =
            names.into_iter().partition(|name| name.kind == DEFINITION);
        // A definition is named by its plural and its group.
        let defined: BTreeSet<String> = definitions
            .iter()
            .filter_map(|definition| definition.name.split_once('.'))
            .map(|(_, group)| group.to_owned())
            .collect();
        let is_served = |name: &ObjectName| {
            let group = name.group();
            group == GROUP
                || BUILT_IN_GROUPS.contains(&group)
                || defined.contains(group)
                || job_resource(group, &name.kind).is_some()
        };
        let all = definitions.into_iter().chain(others);
        let (objects, others) = all.partition(|name| is_served(name) && !name.is_secret());
        Self { objects, others }
    }
}

/// The objects of any kind and the configuration of Kueue that a change applies.
#[derive(Clone, Debug, Default)]
pub struct ChangeScope {
    /// The objects.
    pub objects: Vec<ObjectName>,
    /// The configuration.
    pub configuration: Option<Configuration>,
}

impl ChangeScope {
    /// Whether jobs without Workloads are read: the change lets Kueue manage other ones, or applies some.
    pub(super) fn needs_all_jobs(&self, config_maps: &[Value]) -> bool {
        let mut objects = self.objects.iter();
        if objects.any(|object| job_resource(object.group(), &object.kind).is_some()) {
            return true;
        }
        let Some(new) = &self.configuration else {
            return false;
        };
        let mut texts = config_maps.iter();
        let text = texts.find_map(|map| map.at("/data").get(CONFIG_MAP_KEY)?.as_str());
        let old = text.and_then(|text| load(text).ok());
        let old = old.map_or_else(Configuration::defaulted, |loaded| loaded.configuration);
        let frameworks =
            |of: &Configuration| -> BTreeSet<String> { of.frameworks().iter().cloned().collect() };
        new.manage_jobs_without_queue_name || frameworks(new) != frameworks(&old)
    }
}

/// The resources of jobs, and of the owners between them and their Pods.
pub(super) fn all_job_resources() -> Vec<ApiResource> {
    let frameworks = FRAMEWORKS.iter();
    let frameworks = frameworks.filter_map(|f| job_resource(f.group, f.kind));
    frameworks
        .chain(job_resource("apps", "ReplicaSet"))
        .collect()
}

/// Reads the objects of a change, and those that a lab has applied, which are not among `imported`: those of kinds
/// that are not `is_listed`. Objects of kinds that a lab does not serve are left out, and Secrets.
pub(super) async fn read_objects_of_change(
    reader: &mut ClusterReader,
    scope: &ChangeScope,
    imported: &[Value],
    is_listed: impl Fn(&ObjectName) -> bool,
    notes: &mut Vec<String>,
) -> Result<Vec<Value>, ImportError> {
    let names = scope
        .objects
        .iter()
        .cloned()
        .chain(applied_objects(imported));
    let mut known: BTreeSet<(String, String, String)> = imported.iter().map(identity).collect();
    let mut named = NamedObjects::new(reader.client());
    let mut objects: Vec<Value> = Vec::new();
    let mut denied: BTreeSet<String> = BTreeSet::new();
    for name in ComparableObjects::of(names).objects {
        let namespace = match name.namespace.as_str() {
            "" => "default",
            namespace => namespace,
        };
        let of = |namespace: &str| (name.kind.clone(), namespace.to_owned(), name.name.clone());
        let is_known = known.contains(&of("")) || known.contains(&of(namespace));
        if is_known || is_listed(&name) {
            continue;
        }
        match reader.try_get(&mut named, &name).await? {
            Access::Granted(Some(object)) => {
                known.insert(identity(&object));
                objects.push(object);
            }
            Access::Granted(None) => {}
            Access::MissingRight(right) => drop(denied.insert(right)),
        }
    }
    if !denied.is_empty() {
        let denied: Vec<String> = denied.into_iter().collect();
        notes.push(format!(
            "without the right to {} objects of the folder count as new",
            denied.join(", ")
        ));
    }
    Ok(objects)
}

/// Kind, namespace and name of an object.
fn identity(object: &Value) -> (String, String, String) {
    let text = |path: &str| object.text(path).to_owned();
    (
        text("/kind"),
        text("/metadata/namespace"),
        object.name().to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_of_kinds_that_a_lab_does_not_serve_and_secrets_are_not_compared() {
        let name = |api_version: &str, kind: &str, name: &str| ObjectName {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            namespace: String::new(),
            name: name.to_owned(),
        };
        let all = ComparableObjects::of([
            name("v1", "ServiceAccount", "a"),
            name("v1", "Secret", "s"),
            name("example.com/v1", "Widget", "w"),
            name("other.com/v1", "Gadget", "g"),
            name("apiextensions.k8s.io/v1", DEFINITION, "widgets.example.com"),
            name("batch/v1", "Job", "j"),
        ]);
        let kinds = |names: &[ObjectName]| -> Vec<String> {
            names.iter().map(|name| name.kind.clone()).collect()
        };
        assert_eq!(
            kinds(&all.objects),
            [DEFINITION, "Job", "Widget", "ServiceAccount"]
        );
        assert_eq!(kinds(&all.others), ["Gadget", "Secret"]);
    }

    fn scope(configuration: &str) -> ChangeScope {
        let head = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n";
        let loaded = load(&format!("{head}{configuration}")).unwrap();
        ChangeScope {
            configuration: Some(loaded.configuration),
            ..ChangeScope::default()
        }
    }

    #[test]
    fn jobs_without_workloads_are_read_if_kueue_is_to_manage_others() {
        let frameworks = "integrations: {frameworks: [batch/job]}\n";
        let current =
            format!("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n{frameworks}");
        let mut map = json!({"kind": "ConfigMap", "data": {}});
        map["data"][CONFIG_MAP_KEY] = current.into();
        let maps = [map];
        let needs = |scope: &ChangeScope| scope.needs_all_jobs(&maps);
        assert!(!needs(&ChangeScope::default()));
        assert!(!needs(&scope(frameworks)));
        assert!(needs(&scope(&format!(
            "manageJobsWithoutQueueName: true\n{frameworks}"
        ))));
        assert!(needs(&scope(
            "integrations: {frameworks: [batch/job, pod]}\n"
        )));
        let job = ObjectName {
            api_version: "batch/v1".to_owned(),
            kind: "Job".to_owned(),
            namespace: String::new(),
            name: "j".to_owned(),
        };
        let objects = vec![job];
        assert!(needs(&ChangeScope {
            objects,
            ..ChangeScope::default()
        }));
    }
}
