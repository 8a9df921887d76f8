//! [`PodSelection`]: the pods of jobs that a step acts on.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use super::glob::glob_matches;
use super::raw_steps::{RawPodCount, RawPods};
use kueue_lab_yaml::{Position, Problem};

/// The label of a Pod whose owner is the ReplicaSet of a Deployment.
const POD_TEMPLATE_HASH: &str = "pod-template-hash";
/// The labels of a Pod with the name of a job that does not own it.
const JOB_LABELS: [&str; 2] = [
    "kueue.x-k8s.io/pod-group-name",
    "jobset.sigs.k8s.io/jobset-name",
];

/// Pods of jobs, or of a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PodSelection {
    /// Patterns of the jobs; empty for any.
    pub jobs: Vec<String>,
    /// The node; `None` for any.
    pub node: Option<String>,
    /// How many.
    pub count: PodCount,
}

/// The number of pods that a step acts on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PodCount {
    /// All that exist.
    #[default]
    Existing,
    /// The oldest ones of each job.
    OfEachJob(u32),
    /// Also those that start later, until the jobs are finished.
    UntilFinished,
}

impl fmt::Display for PodSelection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            PodCount::Existing => f.write_str("the pods")?,
            PodCount::OfEachJob(1) => f.write_str("one pod")?,
            PodCount::OfEachJob(number) => write!(f, "{number} pods")?,
            PodCount::UntilFinished => f.write_str("all pods")?,
        }
        if !self.jobs.is_empty() {
            write!(f, " of {}", self.jobs.join(", "))?;
        }
        self.node
            .iter()
            .try_for_each(|node| write!(f, " on node {node}"))
    }
}

impl PodSelection {
    /// Reads a selection. `all` is a number of pods only for steps that end pods.
    pub(super) fn read(raw: RawPods, at: Position, ends_pods: bool) -> Result<Self, Problem> {
        let jobs = raw.jobs.unwrap_or_default().0;
        if jobs.is_empty() && raw.node.is_none() {
            let message = "name at least one job, or a node; `*` matches any text";
            return Err(Problem::new(at, message));
        }
        let count = match raw.pods.map(|pods| (pods.at, pods.value)) {
            None => PodCount::Existing,
            Some((_, RawPodCount::Number(number))) if number > 0 => PodCount::OfEachJob(number),
            Some((at, RawPodCount::Word(word))) if word == "all" && ends_pods => {
                if jobs.is_empty() {
                    return Err(Problem::new(at, "pods: all needs the jobs that finish"));
                }
                PodCount::UntilFinished
            }
            Some((at, _)) => {
                let message = match ends_pods {
                    true => "pods is a number of pods of each job, at least 1, or all",
                    false => "pods is a number of pods of each job, at least 1",
                };
                return Err(Problem::new(at, message));
            }
        };
        Ok(Self {
            jobs,
            node: raw.node,
            count,
        })
    }

    /// The selected pods among `pods`, as namespace and name, the oldest of each job first.
    pub(super) fn select<'a>(
        &self,
        pods: impl Iterator<Item = &'a Value>,
    ) -> Vec<(String, String)> {
        let mut found: Vec<&Value> = pods.filter(|pod| self.selects(pod)).collect();
        found.sort_by_key(|pod| pod["metadata"]["creationTimestamp"].as_str());
        let mut of_jobs: BTreeMap<(&str, String), u32> = BTreeMap::new();
        found.retain(|pod| match self.count {
            PodCount::OfEachJob(most) => {
                let number = of_jobs.entry((namespace(pod), job_name(pod))).or_default();
                *number += 1;
                *number <= most
            }
            PodCount::Existing | PodCount::UntilFinished => true,
        });
        let name = |pod: &Value| pod["metadata"]["name"].as_str().map(str::to_owned);
        let found = found.into_iter();
        found
            .filter_map(|pod| Some((namespace(pod).to_owned(), name(pod)?)))
            .collect()
    }

    /// A job with fewer selected pods than the number of pods of each job, with the number that it has. Not
    /// checked for the pods of a node.
    pub(super) fn missing<'a>(
        &self,
        pods: impl Iterator<Item = &'a Value>,
    ) -> Option<(String, u32)> {
        let PodCount::OfEachJob(wanted) = self.count else {
            return None;
        };
        if self.node.is_some() {
            return None;
        }
        let mut of_jobs: BTreeMap<(&str, String), u32> = BTreeMap::new();
        for pod in pods.filter(|pod| self.selects(pod)) {
            *of_jobs.entry((namespace(pod), job_name(pod))).or_default() += 1;
        }
        let fewer = of_jobs.into_iter().find(|(_, number)| *number < wanted);
        fewer.map(|((_, job), number)| (job, number))
    }

    fn selects(&self, pod: &Value) -> bool {
        let node = self.node.as_deref();
        node.is_none_or(|node| pod["spec"]["nodeName"] == node)
            && (self.jobs.is_empty() || is_pod_of(pod, &self.jobs))
    }
}

fn namespace(pod: &Value) -> &str {
    pod["metadata"]["namespace"].as_str().unwrap_or_default()
}

/// Whether a pod, or a job of the pod, matches one of some patterns.
fn is_pod_of(pod: &Value, jobs: &[String]) -> bool {
    let names = job_names(pod);
    let pod_name = pod["metadata"]["name"].as_str().map(str::to_owned);
    let mut names = names.into_iter().chain(pod_name);
    names.any(|name| {
        jobs.iter().any(|pattern| match pattern.split_once('/') {
            Some((of, pattern)) => glob_matches(of, namespace(pod)) && glob_matches(pattern, &name),
            None => glob_matches(pattern, &name),
        })
    })
}

/// The names of the jobs of a pod, the outermost first.
fn job_names(pod: &Value) -> Vec<String> {
    let metadata = &pod["metadata"];
    let label = |name: &str| metadata["labels"][name].as_str();
    let of_labels = JOB_LABELS.iter().filter_map(|name| label(name));
    let mut names: Vec<String> = of_labels.map(str::to_owned).collect();
    let owners = metadata["ownerReferences"].as_array().into_iter().flatten();
    for owner in owners.filter_map(|owner| owner["name"].as_str()) {
        let hash = label(POD_TEMPLATE_HASH).map(|hash| format!("-{hash}"));
        let deployment = hash.and_then(|hash| owner.strip_suffix(&hash));
        names.extend(deployment.map(str::to_owned));
        names.push(owner.to_owned());
    }
    names
}

/// The name of the job of a pod, or its own.
fn job_name(pod: &Value) -> String {
    let own = || pod["metadata"]["name"].as_str().unwrap_or_default();
    let names = job_names(pod).into_iter();
    names.into_iter().next().unwrap_or_else(|| own().to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(name: &str, second: u32, metadata: Value) -> Value {
        let mut pod = json!({"metadata": metadata, "spec": {"nodeName": "n1"}});
        pod["metadata"]["name"] = name.into();
        pod["metadata"]["namespace"] = "default".into();
        pod["metadata"]["creationTimestamp"] = format!("2026-01-01T00:00:{second:02}Z").into();
        pod
    }

    fn names(jobs: &[&str], node: Option<&str>, count: PodCount) -> Vec<String> {
        let owned_by = |owner: &str| json!({"ownerReferences": [{"name": owner}]});
        let of_deployment = json!({
            "labels": {"pod-template-hash": "abc"}, "ownerReferences": [{"name": "web-abc"}],
        });
        let pods = [
            pod("train-0-x", 3, owned_by("train")),
            pod("train-1-x", 1, owned_by("train")),
            pod("train-2-x", 2, owned_by("train")),
            pod("other-0-x", 1, owned_by("other")),
            pod("p", 1, json!({"labels": {JOB_LABELS[0]: "group"}})),
            pod("web-abc-y", 1, of_deployment),
        ];
        let selection = PodSelection {
            jobs: jobs.iter().map(|job| (*job).to_owned()).collect(),
            node: node.map(str::to_owned),
            count,
        };
        let selected = selection.select(pods.iter()).into_iter();
        selected.map(|(_, name)| name).collect()
    }

    #[test]
    fn pods_are_selected_by_owner_group_deployment_name_and_node() {
        let all = PodCount::Existing;
        assert_eq!(names(&["group"], None, all), ["p"]);
        assert_eq!(names(&["web"], None, all), ["web-abc-y"]);
        assert_eq!(names(&["default/other"], None, all), ["other-0-x"]);
        assert_eq!(names(&["train-2-x"], None, all), ["train-2-x"]);
        assert_eq!(names(&[], Some("n1"), all).len(), 6);
        assert!(names(&["kube-system/*"], None, all).is_empty());
        assert!(names(&["*"], Some("n2"), all).is_empty());
    }

    #[test]
    fn a_number_of_pods_is_that_of_each_job_the_oldest_first() {
        let two = PodCount::OfEachJob(2);
        assert_eq!(names(&["train"], None, two), ["train-1-x", "train-2-x"]);
        let one = names(&["train", "other"], None, PodCount::OfEachJob(1));
        assert_eq!(one, ["train-1-x", "other-0-x"]);
    }
}
