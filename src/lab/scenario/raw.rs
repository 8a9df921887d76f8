//! The file format as deserialized; [`super::format`] validates it and resolves the referenced files. The JSON schema of
//! test files is that of these types, with the comments of their fields as descriptions.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::duration::ScenarioDuration;
use super::job_template::RawJobs;
use super::json_schema::{
    ManagedJobState, one_configuration, one_expectation, one_start_and_action,
};
use super::located::Located;
use super::raw_assertions::{
    JobsOr, Names, RawEvents, RawEvicted, RawFlavors, RawShare, RawState, RawUsage, RawVictims,
    RawWaits,
};
use super::raw_steps::{RawCheck, RawPods, RawPriority, RawProvisioningRequest, RawTaint};

/// The file of a demo.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawDemo {
    pub(super) name: Option<String>,
    pub(super) summary: Option<String>,
    pub(super) preset: Option<String>,
    pub(super) pace: Option<Located<f64>>,
    pub(super) limit: Option<ScenarioDuration>,
    pub(super) steps: Vec<Located<RawStep>>,
}

/// A test file of kueue-lab: a queue configuration and cases. It has either `preset` or `queues`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(title = "Test file of kueue-lab", transform = one_configuration)]
pub(super) struct RawTestFile {
    /// A preset.
    pub(super) preset: Option<Located<String>>,
    /// A folder of queue YAML.
    pub(super) queues: Option<Located<String>>,
    /// A file with Kueue's configuration.
    pub(super) kueue: Option<Located<String>>,
    /// A file with node pools.
    pub(super) nodes: Option<Located<String>>,
    /// The seed of randomness.
    pub(super) seed: Option<u64>,
    /// The cases, each with a name of its own.
    #[schemars(length(min = 1))]
    pub(super) cases: Vec<Located<RawCase>>,
}

/// Steps on a new lab.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCase {
    /// The name.
    pub(super) name: Located<String>,
    /// The longest run in lab time.
    pub(super) limit: Option<ScenarioDuration>,
    /// The steps, one after the other.
    #[schemars(length(min = 1, max = 1000))]
    pub(super) steps: Vec<Located<RawStep>>,
}

/// A step: at most one start, at most one action, and expectations.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(transform = one_start_and_action)]
pub(super) struct RawStep {
    /// A description.
    pub(super) say: Option<String>,
    /// Starts at this time after the start of the scenario.
    pub(super) at: Option<Located<ScenarioDuration>>,
    /// Starts this long after the step before.
    pub(super) after: Option<Located<ScenarioDuration>>,
    /// Starts when this expectation is met.
    pub(super) when: Option<Located<RawExpectation>>,
    /// Launches a managed job of SkyPilot.
    pub(super) launch: Option<Located<RawLaunch>>,
    /// Submits a sample of the preset.
    pub(super) sample: Option<Located<RawSample>>,
    /// Cancels a managed job.
    pub(super) cancel: Option<Located<String>>,
    /// Applies a file, an object or a list of objects.
    pub(super) apply: Option<Located<RawApply>>,
    /// Creates a file, an object or a list of objects that do not exist.
    pub(super) create: Option<Located<RawApply>>,
    /// Patches objects.
    pub(super) patch: Option<Located<RawPatch>>,
    /// Deletes objects.
    pub(super) delete: Option<Located<RawSelector>>,
    /// Activates another preset.
    pub(super) switch: Option<Located<String>>,
    /// Waits this long.
    pub(super) wait: Option<Located<ScenarioDuration>>,
    /// Creates jobs from a template.
    pub(super) jobs: Option<Located<RawJobs>>,
    /// Running pods succeed.
    pub(super) finish: Option<Located<JobsOr<RawPods>>>,
    /// Running pods fail.
    pub(super) fail: Option<Located<JobsOr<RawPods>>>,
    /// Pods get ready.
    pub(super) ready: Option<Located<JobsOr<RawPods>>>,
    /// Pods are no longer ready.
    pub(super) unready: Option<Located<JobsOr<RawPods>>>,
    /// Deletes pods.
    pub(super) delete_pods: Option<Located<JobsOr<RawPods>>>,
    /// Activates the Workloads of jobs.
    pub(super) activate: Option<Located<Names>>,
    /// Deactivates the Workloads of jobs.
    pub(super) deactivate: Option<Located<Names>>,
    /// Changes the priority of jobs.
    pub(super) priority: Option<Located<RawPriority>>,
    /// A node without power.
    pub(super) fail_node: Option<Located<String>>,
    /// A node with power again.
    pub(super) recover_node: Option<Located<String>>,
    /// Adds a taint, which has an effect.
    pub(super) taint: Option<Located<RawTaint>>,
    /// Removes a taint by its key and effect.
    pub(super) untaint: Option<Located<RawTaint>>,
    /// An answer to a check, or whether an AdmissionCheck is active.
    pub(super) check: Option<Located<RawCheck>>,
    /// Sets conditions of ProvisioningRequests.
    pub(super) provisioning_request: Option<Located<RawProvisioningRequest>>,
    /// A pattern for the message with which the API refuses the action.
    pub(super) refused: Option<Located<String>>,
    /// What is expected after the action.
    #[serde(default)]
    pub(super) expect: Vec<Located<RawExpectation>>,
}

/// A SkyPilot task as managed job.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLaunch {
    /// The file of a SkyPilot task.
    pub(super) task: Located<String>,
    /// The name of the job.
    #[serde(rename = "as")]
    pub(super) name: Option<Located<String>>,
}

/// The name of a sample of the active preset, or a mapping with another name for it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "sample takes the name of a sample, or a mapping of name and as"
)]
pub(super) enum RawSample {
    Name(String),
    Named(RawRenamedSample),
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRenamedSample {
    /// A sample.
    pub(super) name: String,
    /// Another name.
    #[serde(rename = "as")]
    pub(super) renamed: String,
}

/// A file to apply or create, or inline objects.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected a file name, an object or a list of objects"
)]
pub(super) enum RawApply {
    File(String),
    #[schemars(with = "Vec<BTreeMap<String, Value>>")]
    Many(Vec<Value>),
    #[schemars(with = "BTreeMap<String, Value>")]
    One(Value),
}

/// A merge patch of objects.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPatch {
    /// The objects.
    pub(super) object: Located<RawSelector>,
    /// A merge patch.
    pub(super) merge: Value,
    /// Such as status.
    #[serde(default)]
    pub(super) subresource: Option<String>,
}

/// Objects by name, namespace or labels.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RawSelector {
    /// A kind.
    pub(super) kind: Located<String>,
    /// Its API version, which is not needed for common kinds.
    pub(super) api_version: Option<String>,
    /// A namespace.
    pub(super) namespace: Option<String>,
    /// A name; * matches any text.
    pub(super) name: Option<String>,
    /// Labels.
    #[serde(default)]
    pub(super) labels: BTreeMap<String, String>,
}

/// An expectation of one kind.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(transform = one_expectation)]
pub(super) struct RawExpectation {
    /// A managed job of SkyPilot.
    pub(super) job: Option<Located<String>>,
    /// The state of the managed job.
    #[schemars(with = "Option<ManagedJobState>")]
    pub(super) status: Option<Located<String>>,
    /// How often the managed job was recovered.
    pub(super) recoveries: Option<Located<u32>>,
    /// Objects.
    pub(super) object: Option<Located<RawSelector>>,
    /// Conditions of the objects by type.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, RawCondition>")]
    pub(super) conditions: IndexMap<String, RawCondition>,
    /// Values of the objects by path; null for absent fields.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Value>")]
    pub(super) fields: IndexMap<String, Value>,
    /// The number of objects.
    pub(super) count: Option<usize>,
    /// Whether there are no objects: count: 0.
    #[serde(default)]
    pub(super) absent: bool,
    /// Objects that must be older.
    pub(super) newer_than: Option<Located<RawSelector>>,
    /// Admitted jobs.
    pub(super) admitted: Option<Located<JobsOr<RawState>>>,
    /// Jobs that are neither admitted nor finished.
    pub(super) pending: Option<Located<JobsOr<RawState>>>,
    /// Finished jobs.
    pub(super) finished: Option<Located<JobsOr<RawState>>>,
    /// The flavors of jobs by resource.
    pub(super) flavors: Option<Located<RawFlavors>>,
    /// Jobs that were preempted since the start of the case.
    pub(super) victims: Option<Located<JobsOr<RawVictims>>>,
    /// Jobs that were evicted, for any reason.
    pub(super) evicted: Option<Located<JobsOr<RawEvicted>>>,
    /// The time from creation to the first admission.
    pub(super) waits: Option<Located<RawWaits>>,
    /// The order of the first admissions.
    #[schemars(length(min = 2))]
    pub(super) order: Option<Located<Vec<String>>>,
    /// The usage of a ClusterQueue.
    pub(super) usage: Option<Located<RawUsage>>,
    /// What a ClusterQueue borrows.
    pub(super) borrowed: Option<Located<RawUsage>>,
    /// The weighted share.
    pub(super) share: Option<Located<RawShare>>,
    /// Events, at least one by default.
    pub(super) events: Option<Located<RawEvents>>,
    /// Not met from this step to the end of the case.
    pub(super) never: Option<Box<Located<RawExpectation>>>,
    /// Met within this time.
    pub(super) within: Option<ScenarioDuration>,
    /// Met for this time.
    pub(super) holds: Option<ScenarioDuration>,
}

/// `Admitted: "True"`, or a mapping of status, reason and message.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "a condition is a status such as \"True\", or a mapping of status, reason and message"
)]
pub(super) enum RawCondition {
    Flag(bool),
    Status(String),
    Parts(RawConditionParts),
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawConditionParts {
    /// The status.
    pub(super) status: Option<RawStatus>,
    /// A pattern for the reason.
    pub(super) reason: Option<String>,
    /// A pattern for the message.
    pub(super) message: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "a condition's status is \"True\", \"False\" or \"Unknown\""
)]
pub(super) enum RawStatus {
    Flag(bool),
    Text(String),
}
