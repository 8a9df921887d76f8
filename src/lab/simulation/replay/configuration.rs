//! [`ReplayConfiguration`]: the queues, nodes and Kueue configuration of a replay.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Namespace, Node};
use serde_json::{Value, json};

use super::replay_error::ReplayError;
use kueue_lab_api::list_names;
use kueue_lab_api::load::structural_defaults;
use kueue_lab_api::v1beta2::{
    AdmissionCheck, ClusterQueue, Cohort, LocalQueue, ResourceFlavor, ResourceGroup, Topology,
    WorkloadPriorityClass,
};
use kueue_lab_codec::Codec;
use kueue_lab_engine::engine::ObjectChange;
use kueue_lab_engine::resources::Decimal;
use kueue_lab_engine::workload::LocalQueueKey;
use kueue_lab_engine::{Engine, EngineConfig};

use crate::trace::Trace;

/// The label that the API server sets on namespaces.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";
/// The namespace of objects without one.
const DEFAULT_NAMESPACE: &str = "default";
/// The most classes that an error names.
const MAX_NAMED: usize = 10;

/// The queues, nodes and Kueue configuration of a replay.
#[derive(Clone, Debug, Default)]
pub struct ReplayConfiguration {
    /// Its name, as the report shows it.
    pub name: String,
    /// The configuration of the engine.
    pub engine: EngineConfig,
    /// Whether `waitForPodsReady` is enabled.
    pub pods_ready: bool,
    /// The objects in version v1beta2. Other kinds than those of Kueue are ignored, except Namespaces.
    pub objects: Vec<Value>,
    /// The nodes, for topology-aware scheduling.
    pub nodes: Vec<Node>,
}

/// An engine with the objects of a configuration.
pub(crate) struct LoadedConfiguration {
    pub(crate) engine: Engine,
    /// The LocalQueues, sorted.
    pub(super) local_queues: Vec<LocalQueueKey>,
    /// The nominal quota of each resource in all ClusterQueues and Cohorts.
    pub(super) nominal_quota: BTreeMap<String, f64>,
}

impl ReplayConfiguration {
    /// An engine with the objects.
    ///
    /// # Errors
    /// An object that does not match its schema, or no LocalQueue.
    pub(crate) fn load(&self, now: Timestamp) -> Result<LoadedConfiguration, ReplayError> {
        let mut engine = Engine::new(self.engine.clone());
        let mut local_queues: Vec<LocalQueue> = self.typed("LocalQueue")?;
        for queue in &mut local_queues {
            let namespace = &mut queue.metadata.namespace;
            namespace.get_or_insert_with(|| DEFAULT_NAMESPACE.to_owned());
        }
        let mut namespaces: Vec<Namespace> = self.typed("Namespace")?;
        let known: BTreeSet<_> = namespaces.iter().map(|n| n.metadata.name.clone()).collect();
        let used: BTreeSet<_> = local_queues
            .iter()
            .map(|q| q.metadata.namespace.clone())
            .collect();
        for name in used.difference(&known).flatten() {
            let mut namespace = Namespace::default();
            namespace.metadata.name = Some(name.clone());
            namespaces.push(namespace);
        }
        for mut namespace in namespaces {
            let name = namespace.metadata.name.clone().unwrap_or_default();
            let labels = namespace.metadata.labels.get_or_insert_default();
            labels.insert(NAME_LABEL.to_owned(), name);
            engine.apply(ObjectChange::upsert(namespace), now);
        }
        for topology in self.typed::<Topology>("Topology")? {
            engine.apply(ObjectChange::upsert(topology), now);
        }
        for flavor in self.typed::<ResourceFlavor>("ResourceFlavor")? {
            engine.apply(ObjectChange::upsert(flavor), now);
        }
        for check in self
            .objects
            .iter()
            .filter(|o| o["kind"] == "AdmissionCheck")
        {
            // Its controller is active.
            let mut check = check.clone();
            check["status"] = json!({"conditions": [{
                "type": "Active", "status": "True", "reason": "Active", "message": "",
                "lastTransitionTime": now.to_string(),
            }]});
            engine.apply(ObjectChange::upsert(typed::<AdmissionCheck>(&check)?), now);
        }
        let mut nominal_quota = BTreeMap::new();
        for cohort in self.typed::<Cohort>("Cohort")? {
            add_nominal_quota(&mut nominal_quota, &cohort.spec.resource_groups);
            let name = cohort.metadata.name.clone().unwrap_or_default();
            engine.apply(ObjectChange::upsert(cohort), now);
            let ancestors = engine.cache().cohort_ancestors(&name);
            ancestors.map_err(|error| ReplayError::Cohort { name, error })?;
        }
        for queue in self.typed::<ClusterQueue>("ClusterQueue")? {
            add_nominal_quota(&mut nominal_quota, &queue.spec.resource_groups);
            engine.apply(ObjectChange::upsert(queue), now);
        }
        let mut keys = Vec::new();
        for queue in local_queues {
            let namespace = queue.metadata.namespace.clone().unwrap_or_default();
            let name = queue.metadata.name.clone().unwrap_or_default();
            keys.push(LocalQueueKey::new(&namespace, &name));
            engine.apply(ObjectChange::upsert(queue), now);
        }
        for node in &self.nodes {
            engine.apply(ObjectChange::upsert(node.clone()), now);
        }
        keys.sort();
        match keys.is_empty() {
            true => Err(ReplayError::NoLocalQueue),
            false => Ok(LoadedConfiguration {
                engine,
                local_queues: keys,
                nominal_quota,
            }),
        }
    }

    /// The values of the WorkloadPriorityClasses by name.
    ///
    /// # Errors
    /// A class that does not match its schema, or one that a job of the trace has and the configuration lacks.
    pub(super) fn priorities(&self, trace: &Trace) -> Result<BTreeMap<String, i32>, ReplayError> {
        let classes: Vec<WorkloadPriorityClass> = self.typed("WorkloadPriorityClass")?;
        let priorities: BTreeMap<String, i32> = classes
            .into_iter()
            .map(|class| (class.metadata.name.unwrap_or_default(), class.value))
            .collect();
        for job in &trace.jobs {
            let class = job
                .priority_class()
                .filter(|c| !priorities.contains_key(*c));
            if let Some(class) = class {
                let known: Vec<&String> = priorities.keys().collect();
                let names = list_names(&known, MAX_NAMED);
                return Err(ReplayError::NoPriorityClass {
                    line: job.line,
                    name: class.to_owned(),
                    existing: match priorities.is_empty() {
                        true => "it has none".to_owned(),
                        false => format!("there are {names}"),
                    },
                });
            }
        }
        Ok(priorities)
    }

    /// The objects of a kind.
    fn typed<T: Codec>(&self, kind: &str) -> Result<Vec<T>, ReplayError> {
        let of_kind = self.objects.iter().filter(|object| object["kind"] == kind);
        of_kind.map(typed).collect()
    }
}

/// An object with the defaults of its schema.
fn typed<T: Codec>(object: &Value) -> Result<T, ReplayError> {
    let mut object = object.clone();
    structural_defaults(&mut object);
    T::from_value(&object).map_err(|error| ReplayError::Object {
        object: format!("{} {}", object["kind"], object["metadata"]["name"]),
        error,
    })
}

fn add_nominal_quota(totals: &mut BTreeMap<String, f64>, groups: &[ResourceGroup]) {
    let flavors = groups.iter().flat_map(|group| &group.flavors);
    for quota in flavors.flat_map(|flavor| &flavor.resources) {
        let nominal = Decimal::parse_lossy(&quota.nominal_quota).as_f64();
        *totals.entry(quota.name.clone()).or_default() += nominal;
    }
}
