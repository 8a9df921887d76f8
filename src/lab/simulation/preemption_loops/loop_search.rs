//! [`LoopSearch`]: tries out jobs until the engine repeats a preemption.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use kueue_lab_api::cohort_parents::CohortParents;
use kueue_lab_api::load::structural_defaults;
use kueue_lab_api::v1beta2::{GROUP, Workload};
use kueue_lab_codec::Codec;
use kueue_lab_engine::Engine;
use kueue_lab_engine::engine::ObjectChange;
use kueue_lab_engine::resources::{Amount, ResourceName};
use kueue_lab_engine::workload::WorkloadKey;
use kueue_lab_quantity::Quantity;
use kueue_lab_quota_tree::amount_from_quantity;
use serde_json::{Value, json};

use super::job_sizes::JobSizes;
use super::loop_example::{LoopExample, LoopJob, LoopKind, SelectedFlavor};
use crate::replay::ReplayConfiguration;
use crate::simulate::{REPETITIONS, settle_round};
use crate::{DriverEvent, EngineDriver};

/// The namespace of the jobs.
const NAMESPACE: &str = "default";
/// The combinations of jobs that are tried out for a ClusterQueue.
const MAX_TRIES: usize = 160;
/// The combinations of jobs that are tried out for all ClusterQueues. With the next limit, presets with
/// thousands of ClusterQueues load without a noticeable delay.
const MAX_TRIES_IN_ALL: usize = 640;
/// The ClusterQueues of the largest tree that is searched.
const MAX_QUEUES: usize = 32;
/// Rounds after which jobs that have not preempted each other three times are no example.
const MAX_ROUNDS: usize = 32;
/// Resources whose amounts are not small numbers.
const NOT_COUNTED: [&str; 3] = ["memory", "ephemeral-storage", "pods"];

/// A search for jobs that preempt each other without end.
#[derive(Clone, Debug)]
pub struct LoopSearch {
    /// The queues and Kueue's configuration.
    pub configuration: ReplayConfiguration,
    /// The ClusterQueues that examples are searched for.
    pub cluster_queues: BTreeSet<String>,
    /// The priorities that jobs can have, ascending.
    pub priorities: Vec<i32>,
    /// Whether there are jobs with partial admission.
    pub partial_admission: bool,
}

/// A ClusterQueue in which jobs are submitted.
struct Queue<'v> {
    name: &'v str,
    spec: &'v Value,
}

/// The ClusterQueues and Cohorts below a root.
#[derive(Default)]
struct CohortTree<'v> {
    members: Vec<&'v Value>,
}

/// The policies of a ClusterQueue that can cause loops.
struct Policies<'v> {
    within: &'v str,
    reclaim: &'v str,
    /// Whether there can be [`LoopKind::FairSharing`].
    is_fair: bool,
    /// Whether there can be [`LoopKind::WithinClusterQueue`].
    is_within: bool,
}

/// The quota of a resource in a flavor of a ClusterQueue.
#[derive(Clone)]
struct QueueQuota<'v> {
    flavor: &'v str,
    resource: ResourceName,
    nominal: Amount,
    can_borrow: bool,
    /// Whether jobs without a node selector get the flavor.
    is_first: bool,
    /// Whether the resource group has other flavors.
    has_alternatives: bool,
}

/// Two ClusterQueues that have a quota of the same resource in the same flavor.
struct SharedQuota<'v> {
    quota: QueueQuota<'v>,
    /// The nominal quota of the other ClusterQueue.
    of_other: Amount,
    /// The quota of the tree.
    total: Amount,
    /// The node labels of the flavor, if jobs that select them get no other flavor.
    selected: Option<&'v Value>,
}

impl LoopSearch {
    /// An example for each of the ClusterQueues whose policies cause a loop. ClusterQueues with topologies are left
    /// out, and trees of more than [`MAX_QUEUES`] ClusterQueues; admission checks count as ready.
    pub fn examples(&self) -> BTreeMap<String, LoopExample> {
        let objects = self.objects();
        let parents = CohortParents::new(of_kind(&objects, "Cohort"));
        let mut trees: BTreeMap<&str, CohortTree<'_>> = BTreeMap::new();
        for object in &objects {
            let cohort = match text(object, "/kind") {
                "ClusterQueue" => text(object, "/spec/cohortName"),
                "Cohort" => name(object),
                _ => continue,
            };
            if !cohort.is_empty() {
                let tree = trees.entry(parents.root(cohort)).or_default();
                tree.members.push(object);
            }
        }
        let mut examples = BTreeMap::new();
        let mut tries = MAX_TRIES_IN_ALL;
        for tree in trees.values() {
            self.search_tree(tree, &objects, &mut tries, &mut examples);
        }
        examples
    }

    /// Adds the examples of a tree.
    fn search_tree(
        &self,
        tree: &CohortTree<'_>,
        objects: &[Value],
        tries: &mut usize,
        examples: &mut BTreeMap<String, LoopExample>,
    ) {
        let queues: Vec<Queue<'_>> = of_kind(tree.members.iter().copied(), "ClusterQueue")
            .map(|queue| Queue {
                name: name(queue),
                spec: &queue["spec"],
            })
            .collect();
        if queues.len() > MAX_QUEUES {
            return;
        }
        let start = Timestamp::UNIX_EPOCH;
        let engine = LazyCell::new(|| {
            let shared = of_kind(objects, "ResourceFlavor");
            let local_queues = of_kind(objects, "LocalQueue")
                .filter(|local| queues.iter().any(|queue| queue.name == name(local)));
            let members = tree.members.iter().copied();
            let configuration = ReplayConfiguration {
                objects: shared.chain(local_queues).chain(members).cloned().collect(),
                ..self.configuration.clone()
            };
            configuration.load(start).ok()
        });
        let searched = queues
            .iter()
            .filter(|queue| self.cluster_queues.contains(queue.name));
        for queue in searched {
            if *tries == 0 {
                return;
            }
            let others = queues.iter().filter(|other| other.name != queue.name);
            let shared = others.flat_map(|other| {
                let shared = self.shared_quotas(queue, other, tree, objects);
                shared.into_iter().map(move |shared| (other, shared))
            });
            let mut shared: Vec<(&Queue<'_>, (usize, SharedQuota<'_>))> = shared.collect();
            // One quota of each other ClusterQueue, then the second of each.
            shared.sort_by_key(|(_, (index, _))| *index);
            let mut left = MAX_TRIES.min(*tries);
            let limit = left;
            let found = shared
                .iter()
                .flat_map(|(other, (_, shared))| self.candidates(queue, other, shared))
                .take_while(|_| {
                    let is_left = left > 0;
                    left = left.saturating_sub(1);
                    is_left
                })
                .find_map(|candidate| repeated(&engine.as_ref()?.engine, candidate, start));
            *tries -= limit - left;
            examples.extend(found.map(|found| (queue.name.to_owned(), found)));
        }
    }

    /// The queues, without what does not matter, each with a LocalQueue of its name.
    fn objects(&self) -> Vec<Value> {
        let mut objects = Vec::new();
        for object in &self.configuration.objects {
            let is_kueue = text(object, "/apiVersion").starts_with(GROUP);
            match text(object, "/kind") {
                "ResourceFlavor" if !text(object, "/spec/topologyName").is_empty() => {}
                "ResourceFlavor" | "Cohort" if is_kueue => objects.push(object.clone()),
                "ClusterQueue" if is_kueue => {
                    let mut queue = object.clone();
                    queue["spec"]["namespaceSelector"] = json!({});
                    for field in ["admissionChecks", "admissionChecksStrategy"] {
                        queue["spec"].as_object_mut().map(|spec| spec.remove(field));
                    }
                    objects.push(json!({
                        "apiVersion": format!("{GROUP}/v1beta2"), "kind": "LocalQueue",
                        "metadata": {"name": name(object), "namespace": NAMESPACE},
                        "spec": {"clusterQueue": name(object)},
                    }));
                    objects.push(queue);
                }
                _ => {}
            }
        }
        objects
    }

    /// The policies of `queue`; `None` if they cause no loop with jobs of `other`.
    fn policies<'v>(&self, queue: &Queue<'v>, other: &Queue<'_>) -> Option<Policies<'v>> {
        let policy = |path: &str| match text(queue.spec, path) {
            "Never" => "",
            policy => policy,
        };
        let within = policy("/preemption/withinClusterQueue");
        let reclaim = policy("/preemption/reclaimWithinCohort");
        let has_fair_sharing = self.configuration.engine.fair_sharing.is_some();
        let is_fair = has_fair_sharing && !within.is_empty();
        // A job that borrows can be reclaimed from and come first only if its priority does not matter, and if it
        // is tried in every cycle.
        let is_within = !has_fair_sharing
            && !within.is_empty()
            && reclaim == "Any"
            && text(other.spec, "/queueingStrategy") == "StrictFIFO";
        if reclaim.is_empty() || !(is_fair || is_within || self.partial_admission) {
            return None;
        }
        Some(Policies {
            within,
            reclaim,
            is_fair,
            is_within,
        })
    }

    /// The quotas in which jobs of `queue` can preempt those of `other`, with their indices; one of those that have the same
    /// amounts. Jobs select the nodes of a flavor if there are others, and are tried without node selector last.
    fn shared_quotas<'v>(
        &self,
        queue: &Queue<'v>,
        other: &Queue<'_>,
        tree: &CohortTree<'_>,
        objects: &'v [Value],
    ) -> Vec<(usize, SharedQuota<'v>)> {
        if self.policies(queue, other).is_none() {
            return Vec::new();
        }
        let of_tree: Vec<QueueQuota<'_>> = tree
            .members
            .iter()
            .flat_map(|m| quotas(&m["spec"]))
            .collect();
        let of_other = quotas(other.spec);
        let mut shared: Vec<SharedQuota<'_>> = Vec::new();
        for quota in quotas(queue.spec) {
            let is_same =
                |q: &&QueueQuota<'_>| (q.flavor, q.resource) == (quota.flavor, quota.resource);
            let Some(of_other) = of_other.iter().find(is_same) else {
                continue;
            };
            let counts = !NOT_COUNTED.contains(&quota.resource.as_str());
            if !(counts && quota.can_borrow && of_other.can_borrow) {
                continue;
            }
            let mut flavors = of_kind(objects, "ResourceFlavor");
            let labels = flavors.find(|flavor| name(flavor) == quota.flavor);
            let labels = labels.map(|flavor| &flavor["spec"]["nodeLabels"]);
            let has_labels = |labels: &&Value| labels.as_object().is_some_and(|l| !l.is_empty());
            let selected = labels.filter(|labels| quota.has_alternatives && has_labels(labels));
            let total = of_tree
                .iter()
                .filter(is_same)
                .fold(Amount::ZERO, |sum, q| sum.plus(q.nominal));
            let other_is_first = of_other.is_first;
            let of_other = of_other.nominal;
            if selected.is_some() {
                shared.push(SharedQuota {
                    quota: quota.clone(),
                    of_other,
                    total,
                    selected,
                });
            }
            if quota.is_first && other_is_first {
                shared.push(SharedQuota {
                    quota,
                    of_other,
                    total,
                    selected: None,
                });
            }
        }
        shared.sort_by_key(|shared| shared.selected.is_none());
        let amounts =
            |s: &SharedQuota<'_>| (s.selected.is_some(), s.quota.nominal, s.of_other, s.total);
        let mut tried: Vec<(bool, Amount, Amount, Amount)> = Vec::new();
        shared.retain(|shared| {
            let amounts = amounts(shared);
            let is_new = !tried.contains(&amounts);
            tried.push(amounts);
            is_new
        });
        shared.into_iter().enumerate().collect()
    }

    /// The jobs to try out in a quota, with those of `queue` as preemptors.
    fn candidates(
        &self,
        queue: &Queue<'_>,
        other: &Queue<'_>,
        shared: &SharedQuota<'_>,
    ) -> Vec<LoopExample> {
        let Some(policies) = self.policies(queue, other) else {
            return Vec::new();
        };
        let Policies {
            within,
            reclaim,
            is_fair,
            is_within,
        } = policies;
        let SharedQuota {
            quota,
            of_other,
            total,
            selected,
        } = shared;
        let of_other = *of_other;
        let Some(sizes) = JobSizes::new(quota.resource, *total, [quota.nominal, of_other]) else {
            return Vec::new();
        };
        let (low, high) = match self.priorities.as_slice() {
            [] => (0, 0),
            [only] => (*only, *only),
            [low, .., high] => (*low, *high),
        };
        let job = |queue: &Queue<'_>, size: i64, priority: i32| LoopJob {
            cluster_queue: queue.name.to_owned(),
            amount: sizes.quantity(size),
            pods: 1,
            min_pods: None,
            priority,
        };
        let mut candidates = Vec::new();
        let mut push = |kind, jobs| {
            candidates.push(LoopExample {
                kind,
                resource: quota.resource.as_str().to_owned(),
                selected: selected.map(|labels| SelectedFlavor {
                    name: quota.flavor.to_owned(),
                    node_labels: labels.clone(),
                }),
                jobs,
                preemptor: 0,
                target: 0,
            });
        };
        let total = sizes.total;
        let amount = |size| sizes.amount(size);
        let has_priorities = low < high || within == "LowerOrNewerEqualPriority";
        if is_fair && has_priorities {
            for (third, first, second) in triples(&sizes.all) {
                if third + first > total && third + second <= total && first + second <= total {
                    let jobs = vec![
                        job(other, first, low),
                        job(queue, second, low),
                        job(queue, third, high),
                    ];
                    push(LoopKind::FairSharing, jobs);
                }
            }
        }
        if is_within && has_priorities {
            for (kept, first, second) in triples(&sizes.all) {
                let reclaims = kept + first <= total
                    && kept + first + second > total
                    && amount(kept + second) <= quota.nominal
                    && amount(first) > of_other;
                // It would fit without the first, has to borrow, and is not larger than the nominal quota.
                let preempts = |third: i64| {
                    kept + third <= total
                        && kept + second + third > total
                        && amount(kept + third) > quota.nominal
                        && amount(third) <= quota.nominal
                };
                for third in sizes
                    .all
                    .iter()
                    .filter(|third| reclaims && preempts(**third))
                {
                    let jobs = vec![
                        job(queue, kept, high),
                        job(other, first, high),
                        job(queue, second, low),
                        job(queue, *third, high),
                    ];
                    push(LoopKind::WithinClusterQueue, jobs);
                }
            }
        }
        if self.partial_admission {
            for (first, pods, min) in triples(&sizes.all) {
                let preempts = first + min > total && amount(min) <= quota.nominal && pods > min;
                if preempts && amount(first) > of_other && amount(pods) > quota.nominal {
                    let (of_first, of_second) = match reclaim {
                        "LowerPriority" => (low, high),
                        _ => (high, low),
                    };
                    let second = LoopJob {
                        amount: sizes.quantity(1),
                        pods,
                        min_pods: Some(min),
                        ..job(queue, 1, of_second)
                    };
                    push(
                        LoopKind::PartialAdmission,
                        vec![job(other, first, of_first), second],
                    );
                }
            }
        }
        candidates
    }
}

/// All triples of sizes.
fn triples(sizes: &[i64]) -> impl Iterator<Item = (i64, i64, i64)> {
    sizes.iter().flat_map(move |a| {
        sizes
            .iter()
            .flat_map(move |b| sizes.iter().map(move |c| (*a, *b, *c)))
    })
}

/// The example with the preemptor and target that the engine repeats; `None` if it repeats none.
fn repeated(engine: &Engine, candidate: LoopExample, start: Timestamp) -> Option<LoopExample> {
    let mut driver = EngineDriver::new(engine.clone(), false);
    let mut now = start;
    let mut counts: BTreeMap<(WorkloadKey, WorkloadKey), usize> = BTreeMap::new();
    for (index, job) in candidate.jobs.iter().enumerate() {
        now = now.checked_add(SignedDuration::from_secs(60)).ok()?;
        let workload = workload(index, job, &candidate, now)?;
        driver
            .engine_mut()
            .apply(ObjectChange::upsert(workload), now);
        for _ in 0..MAX_ROUNDS {
            let Some(events) = settle_round(&mut driver, &mut now) else {
                break;
            };
            for event in events {
                let DriverEvent::Evicted {
                    workload,
                    preemptor: Some(preemptor),
                    ..
                } = event
                else {
                    continue;
                };
                let pair = (preemptor, workload);
                let count = counts.entry(pair.clone()).or_default();
                *count += 1;
                if *count >= REPETITIONS {
                    let index = |key: &WorkloadKey| key.name().parse().ok();
                    let (preemptor, target) = (index(&pair.0)?, index(&pair.1)?);
                    return Some(LoopExample {
                        preemptor,
                        target,
                        ..candidate
                    });
                }
            }
        }
    }
    None
}

/// The Workload of a job, with its index as name.
fn workload(
    index: usize,
    job: &LoopJob,
    example: &LoopExample,
    now: Timestamp,
) -> Option<Workload> {
    let resource = &example.resource;
    let container = json!({"name": "c", "resources": {"requests": {resource: job.amount}}});
    let mut pod = json!({"containers": [container], "tolerations": [{"operator": "Exists"}]});
    if let Some(flavor) = &example.selected {
        pod["nodeSelector"] = flavor.node_labels.clone();
    }
    let mut pod_set = json!({"name": "main", "count": job.pods, "template": {"spec": pod}});
    if let Some(min) = job.min_pods {
        pod_set["minCount"] = min.into();
    }
    let mut workload = json!({
        "apiVersion": format!("{GROUP}/v1beta2"), "kind": "Workload",
        "metadata": {"name": index.to_string(), "namespace": NAMESPACE, "uid": index.to_string(),
            "creationTimestamp": now.to_string()},
        "spec": {"queueName": job.cluster_queue, "priority": job.priority, "podSets": [pod_set]},
    });
    structural_defaults(&mut workload);
    Workload::from_value(&workload).ok()
}

/// The quotas of all flavors.
fn quotas(spec: &Value) -> Vec<QueueQuota<'_>> {
    let groups = spec["resourceGroups"].as_array().into_iter().flatten();
    let flavors = groups.flat_map(|group| {
        let flavors = group["flavors"].as_array().map_or(&[][..], Vec::as_slice);
        let numbered = flavors.iter().enumerate();
        numbered.map(move |(index, flavor)| (index == 0, flavors.len() > 1, flavor))
    });
    let quotas = flavors.flat_map(|(is_first, has_alternatives, flavor)| {
        let resources = flavor["resources"].as_array().into_iter().flatten();
        resources.map(move |quota| {
            let resource = ResourceName::new(text(quota, "/name"));
            QueueQuota {
                flavor: text(flavor, "/name"),
                resource,
                nominal: amount(resource, &quota["nominalQuota"]).unwrap_or_default(),
                can_borrow: amount(resource, &quota["borrowingLimit"]) != Some(Amount::ZERO),
                is_first,
                has_alternatives,
            }
        })
    });
    quotas.collect()
}

fn amount(resource: ResourceName, quantity: &Value) -> Option<Amount> {
    Some(amount_from_quantity(resource, Quantity::of(quantity)?))
}

fn of_kind<'v>(
    objects: impl IntoIterator<Item = &'v Value>,
    kind: &'static str,
) -> impl Iterator<Item = &'v Value> {
    objects
        .into_iter()
        .filter(move |object| text(object, "/kind") == kind)
}

fn name(object: &Value) -> &str {
    text(object, "/metadata/name")
}

fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    let text = object.pointer(pointer).and_then(Value::as_str);
    text.unwrap_or_default()
}
