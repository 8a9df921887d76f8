//! [`Trace`] and its jobs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Container, PodSpec, PodTemplateSpec, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kueue_lab_api::v1beta2::{PodSet, WorkloadSpec};

/// One job of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceJob {
    /// Its line in the file, from 1.
    pub line: usize,
    /// Its name.
    pub name: String,
    /// Its queue, as the trace names it; may be empty.
    pub queue: String,
    /// When it was submitted.
    pub submitted: Timestamp,
    /// How long it runs once it is admitted.
    pub duration: SignedDuration,
    /// The spec of its Workload; the queue name is that of the replay.
    pub spec: WorkloadSpec,
}

/// The jobs of a trace, by submission.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// The jobs.
    pub jobs: Vec<TraceJob>,
    /// The number of incomplete jobs that were skipped.
    pub skipped: usize,
    /// The columns of a CSV file that are not used.
    pub unused_columns: Vec<String>,
    /// The columns of the format that a CSV file does not have.
    pub absent_columns: Vec<&'static str>,
}

impl Trace {
    /// The queues of the jobs; jobs without a queue have an empty one.
    pub fn queues(&self) -> BTreeSet<&str> {
        self.jobs.iter().map(|job| job.queue.as_str()).collect()
    }
}

/// The requests of a pod by resource, as quantities.
pub(super) type PodRequests = BTreeMap<String, String>;

/// Makes pod sets; pods with the same requests share their template.
#[derive(Debug, Default)]
pub(super) struct PodSets {
    templates: BTreeMap<PodRequests, Arc<PodTemplateSpec>>,
}

impl PodSets {
    /// A pod set of `count` pods.
    pub(super) fn pod_set(&mut self, name: &str, count: i32, requests: PodRequests) -> PodSet {
        let template = match self.templates.get(&requests) {
            Some(known) => known.clone(),
            None => {
                let template = Arc::new(template(&requests));
                self.templates.insert(requests, template.clone());
                template
            }
        };
        PodSet {
            name: name.to_owned(),
            template,
            count,
            ..PodSet::default()
        }
    }
}

fn template(requests: &PodRequests) -> PodTemplateSpec {
    let quantities = requests.iter();
    let quantities = quantities.map(|(name, amount)| (name.clone(), Quantity(amount.clone())));
    let container = Container {
        name: "c".to_owned(),
        resources: Some(ResourceRequirements {
            requests: Some(quantities.collect()),
            ..ResourceRequirements::default()
        }),
        ..Container::default()
    };
    PodTemplateSpec {
        metadata: None,
        spec: Some(PodSpec {
            containers: vec![container],
            restart_policy: Some("Never".to_owned()),
            ..PodSpec::default()
        }),
    }
}

impl TraceJob {
    /// The WorkloadPriorityClass of a job whose priority is only known by it.
    pub(crate) fn priority_class(&self) -> Option<&str> {
        let class = self.spec.priority_class_ref.as_ref();
        let class = class.filter(|_| self.spec.priority.is_none());
        class.map(|class| class.name.as_str())
    }
}

/// The spec of a job with these pod sets.
pub(super) fn spec(pod_sets: Vec<PodSet>, priority: i32) -> WorkloadSpec {
    WorkloadSpec {
        pod_sets,
        priority: Some(priority),
        active: Some(true),
        ..WorkloadSpec::default()
    }
}
