//! [`LoopSearch`]: tries out jobs until the engine repeats a preemption.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kueue_lab_admission::Engine;
use kueue_lab_admission::resources::Decimal;
use kueue_lab_admission::workload::WorkloadKey;
use kueue_lab_api::load::structural_defaults;
use kueue_lab_api::v1beta2::{GROUP, Workload};
use serde_json::{Value, json};

use super::job_sizes::JobSizes;
use super::loop_example::{LoopExample, LoopJob, LoopKind};
use crate::replay::ReplayConfiguration;
use crate::simulate::settle_round;
use crate::{DriverEvent, EngineDriver};

/// The namespace of the jobs.
const NAMESPACE: &str = "default";
/// The combinations of jobs that are tried out for a ClusterQueue.
const MAX_TRIES: usize = 160;
/// Rounds after which jobs that have not preempted each other three times are no example.
const MAX_ROUNDS: usize = 32;
/// The same preemptor and target, this many times, are a repetition.
const REPETITIONS: usize = 3;
/// The longest path to a root; longer ones are cycles.
const MAX_DEPTH: usize = 64;
/// Resources whose amounts are not small numbers.
const NOT_COUNTED: [&str; 3] = ["memory", "ephemeral-storage", "pods"];

/// A search for jobs that preempt each other without end.
#[derive(Clone, Debug)]
pub struct LoopSearch {
    /// The queues and Kueue's configuration.
    pub configuration: ReplayConfiguration,
    /// The priorities that jobs can have, ascending.
    pub priorities: Vec<i32>,
    /// Whether there are jobs with partial admission.
    pub partial_admission: bool,
}

/// A ClusterQueue in which jobs are submitted.
struct Queue<'v> {
    name: &'v str,
    spec: &'v Value,
    root: &'v str,
}

/// The quota of a resource in the first flavor of a ClusterQueue.
struct Quota<'v> {
    flavor: &'v str,
    resource: &'v str,
    nominal: f64,
    can_borrow: bool,
}

impl LoopSearch {
    /// An example for each ClusterQueue whose policies cause a loop. ClusterQueues with topologies are left
    /// out; admission checks count as ready.
    pub fn examples(&self) -> BTreeMap<String, LoopExample> {
        let objects = self.objects();
        let configuration = ReplayConfiguration {
            objects: objects.clone(),
            ..self.configuration.clone()
        };
        let start = Timestamp::UNIX_EPOCH;
        let Ok(loaded) = configuration.load(start) else {
            return BTreeMap::new();
        };
        let parents: BTreeMap<&str, &str> = of_kind(&objects, "Cohort")
            .map(|cohort| (name(cohort), text(cohort, "/spec/parentName")))
            .filter(|(_, parent)| !parent.is_empty())
            .collect();
        let queues: Vec<Queue<'_>> = of_kind(&objects, "ClusterQueue")
            .filter(|queue| !text(queue, "/spec/cohortName").is_empty())
            .map(|queue| Queue {
                name: name(queue),
                spec: &queue["spec"],
                root: root(text(queue, "/spec/cohortName"), &parents),
            })
            .collect();
        let mut examples = BTreeMap::new();
        for queue in &queues {
            let others = queues
                .iter()
                .filter(|other| other.name != queue.name && other.root == queue.root);
            let mut tries = 0;
            let found = others
                .flat_map(|other| self.candidates(queue, other, &objects, &parents))
                .take_while(|_| {
                    tries += 1;
                    tries <= MAX_TRIES
                })
                .find_map(|candidate| repeated(&loaded.engine, candidate, start));
            examples.extend(found.map(|found| (queue.name.to_owned(), found)));
        }
        examples
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

    /// The jobs to try out, with those of `queue` as preemptors.
    fn candidates(
        &self,
        queue: &Queue<'_>,
        other: &Queue<'_>,
        objects: &[Value],
        parents: &BTreeMap<&str, &str>,
    ) -> Vec<LoopExample> {
        let policy = |path: &str| match text(queue.spec, path) {
            "Never" => "",
            policy => policy,
        };
        let within = policy("/preemption/withinClusterQueue");
        let reclaim = policy("/preemption/reclaimWithinCohort");
        let of_other = quotas(other.spec);
        let shared = quotas(queue.spec).into_iter().find_map(|quota| {
            let same = |q: &&Quota<'_>| (q.flavor, q.resource) == (quota.flavor, quota.resource);
            let of_other = of_other.iter().find(same)?;
            let counts = !NOT_COUNTED.contains(&quota.resource);
            (counts && quota.can_borrow && of_other.can_borrow).then_some((quota, of_other.nominal))
        });
        let Some((quota, of_other)) = shared else {
            return Vec::new();
        };
        let members = objects.iter().filter(|object| match text(object, "/kind") {
            "ClusterQueue" => root(text(object, "/spec/cohortName"), parents) == queue.root,
            "Cohort" => root(name(object), parents) == queue.root,
            _ => false,
        });
        let nominal: Vec<f64> = members
            .flat_map(|member| quotas(&member["spec"]))
            .filter(|q| (q.flavor, q.resource) == (quota.flavor, quota.resource))
            .map(|q| q.nominal)
            .collect();
        let Some(sizes) = JobSizes::new(quota.resource, &nominal) else {
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
                resource: quota.resource.to_owned(),
                jobs,
                preemptor: 0,
                target: 0,
            });
        };
        let is_fair = self.configuration.engine.fair_sharing.is_some();
        let total = sizes.total;
        let has_priorities = low < high || within == "LowerOrNewerEqualPriority";
        if !within.is_empty() && !reclaim.is_empty() && has_priorities {
            for (third, first, second) in triples(&sizes.all) {
                if is_fair
                    && third + first > total
                    && third + second <= total
                    && first + second <= total
                {
                    let jobs = vec![
                        job(other, first, low),
                        job(queue, second, low),
                        job(queue, third, high),
                    ];
                    push(LoopKind::FairSharing, jobs);
                }
            }
        }
        if self.partial_admission && !reclaim.is_empty() {
            for (first, pods, min) in triples(&sizes.all) {
                let preempts = first + min > total && min as f64 <= quota.nominal && pods > min;
                if preempts && first as f64 > of_other && pods as f64 > quota.nominal {
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
        let workload = workload(index, job, &candidate.resource, now)?;
        driver.engine_mut().upsert_workload(Arc::new(workload), now);
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
fn workload(index: usize, job: &LoopJob, resource: &str, now: Timestamp) -> Option<Workload> {
    let container = json!({"name": "c", "resources": {"requests": {resource: job.amount}}});
    let pod = json!({"containers": [container], "tolerations": [{"operator": "Exists"}]});
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
    serde_json::from_value(workload).ok()
}

/// The quotas in the first flavor of each resource group.
fn quotas(spec: &Value) -> Vec<Quota<'_>> {
    let groups = spec["resourceGroups"].as_array().into_iter().flatten();
    let first = groups.filter_map(|group| group["flavors"].get(0));
    let quotas = first.flat_map(|flavor| {
        let resources = flavor["resources"].as_array().into_iter().flatten();
        resources.map(move |quota| Quota {
            flavor: text(flavor, "/name"),
            resource: text(quota, "/name"),
            nominal: amount(&quota["nominalQuota"]).unwrap_or_default(),
            can_borrow: amount(&quota["borrowingLimit"]) != Some(0.0),
        })
    });
    quotas.collect()
}

fn amount(quantity: &Value) -> Option<f64> {
    match quantity {
        Value::String(text) => Some(Decimal::parse_lossy(&Quantity(text.clone())).as_f64()),
        Value::Number(number) => number.as_f64(),
        _ => None,
    }
}

/// The root of a cohort.
fn root<'v>(cohort: &'v str, parents: &BTreeMap<&'v str, &'v str>) -> &'v str {
    let mut root = cohort;
    for _ in 0..MAX_DEPTH {
        match parents.get(root) {
            Some(parent) => root = parent,
            None => break,
        }
    }
    root
}

fn of_kind<'v>(objects: &'v [Value], kind: &'static str) -> impl Iterator<Item = &'v Value> {
    objects
        .iter()
        .filter(move |object| text(object, "/kind") == kind)
}

fn name(object: &Value) -> &str {
    text(object, "/metadata/name")
}

fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    let text = object.pointer(pointer).and_then(Value::as_str);
    text.unwrap_or_default()
}
