//! The file format as deserialized; [`super::format`] validates it and resolves the referenced files.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;

use super::duration::ScenarioDuration;
use super::job_template::RawJobs;
use super::raw_assertions::{
    JobsOr, Names, RawEvents, RawEvicted, RawFlavors, RawShare, RawState, RawUsage, RawVictims,
    RawWaits,
};
use super::raw_steps::{RawCheck, RawPods, RawPriority, RawProvisioningRequest, RawTaint};
use kueue_lab_yaml::Located;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawScenario {
    pub(super) name: Option<Located<String>>,
    pub(super) summary: Option<String>,
    pub(super) preset: Option<String>,
    pub(super) pace: Option<Located<f64>>,
    pub(super) limit: Option<ScenarioDuration>,
    pub(super) steps: Vec<Located<RawStep>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RawStep {
    pub(super) say: Option<String>,
    pub(super) at: Option<Located<ScenarioDuration>>,
    pub(super) after: Option<Located<ScenarioDuration>>,
    pub(super) when: Option<Located<RawExpectation>>,
    pub(super) launch: Option<Located<RawLaunch>>,
    pub(super) sample: Option<Located<RawSample>>,
    pub(super) cancel: Option<Located<String>>,
    pub(super) apply: Option<Located<RawApply>>,
    pub(super) create: Option<Located<RawApply>>,
    pub(super) patch: Option<Located<RawPatch>>,
    pub(super) delete: Option<Located<RawSelector>>,
    pub(super) switch: Option<Located<String>>,
    pub(super) wait: Option<Located<ScenarioDuration>>,
    pub(super) jobs: Option<Located<RawJobs>>,
    pub(super) finish: Option<Located<JobsOr<RawPods>>>,
    pub(super) fail: Option<Located<JobsOr<RawPods>>>,
    pub(super) ready: Option<Located<JobsOr<RawPods>>>,
    pub(super) unready: Option<Located<JobsOr<RawPods>>>,
    pub(super) delete_pods: Option<Located<JobsOr<RawPods>>>,
    pub(super) activate: Option<Located<Names>>,
    pub(super) deactivate: Option<Located<Names>>,
    pub(super) priority: Option<Located<RawPriority>>,
    pub(super) fail_node: Option<Located<String>>,
    pub(super) recover_node: Option<Located<String>>,
    pub(super) taint: Option<Located<RawTaint>>,
    pub(super) untaint: Option<Located<RawTaint>>,
    pub(super) check: Option<Located<RawCheck>>,
    pub(super) provisioning_request: Option<Located<RawProvisioningRequest>>,
    pub(super) refused: Option<Located<String>>,
    #[serde(default)]
    pub(super) expect: Vec<Located<RawExpectation>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLaunch {
    pub(super) task: Located<String>,
    #[serde(rename = "as")]
    pub(super) name: Option<Located<String>>,
}

/// A sample of the active preset, with another name for it.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "sample takes the name of a sample, or a mapping of name and as"
)]
pub(super) enum RawSample {
    Name(String),
    Named(RawRenamedSample),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRenamedSample {
    pub(super) name: String,
    #[serde(rename = "as")]
    pub(super) renamed: String,
}

/// A file to apply or create, or inline objects.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a file name, an object or a list of objects"
)]
pub(super) enum RawApply {
    File(String),
    Many(Vec<Value>),
    One(Value),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPatch {
    pub(super) object: Located<RawSelector>,
    pub(super) merge: Value,
    #[serde(default)]
    pub(super) subresource: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RawSelector {
    pub(super) kind: Located<String>,
    pub(super) api_version: Option<String>,
    pub(super) namespace: Option<String>,
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) labels: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RawExpectation {
    pub(super) job: Option<Located<String>>,
    pub(super) status: Option<Located<String>>,
    pub(super) recoveries: Option<Located<u32>>,
    pub(super) object: Option<Located<RawSelector>>,
    #[serde(default)]
    pub(super) conditions: IndexMap<String, RawCondition>,
    #[serde(default)]
    pub(super) fields: IndexMap<String, Value>,
    pub(super) count: Option<usize>,
    #[serde(default)]
    pub(super) absent: bool,
    pub(super) newer_than: Option<Located<RawSelector>>,
    pub(super) admitted: Option<Located<JobsOr<RawState>>>,
    pub(super) pending: Option<Located<JobsOr<RawState>>>,
    pub(super) finished: Option<Located<JobsOr<RawState>>>,
    pub(super) flavors: Option<Located<RawFlavors>>,
    pub(super) victims: Option<Located<JobsOr<RawVictims>>>,
    pub(super) evicted: Option<Located<JobsOr<RawEvicted>>>,
    pub(super) waits: Option<Located<RawWaits>>,
    pub(super) order: Option<Located<Vec<String>>>,
    pub(super) usage: Option<Located<RawUsage>>,
    pub(super) borrowed: Option<Located<RawUsage>>,
    pub(super) share: Option<Located<RawShare>>,
    pub(super) events: Option<Located<RawEvents>>,
    pub(super) never: Option<Box<Located<RawExpectation>>>,
    pub(super) within: Option<ScenarioDuration>,
    pub(super) holds: Option<ScenarioDuration>,
}

/// `Admitted: "True"`, or a mapping of status, reason and message.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "a condition is a status such as \"True\", or a mapping of status, reason and message"
)]
pub(super) enum RawCondition {
    Flag(bool),
    Status(String),
    Parts(RawConditionParts),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawConditionParts {
    pub(super) status: Option<RawStatus>,
    pub(super) reason: Option<String>,
    pub(super) message: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "a condition's status is \"True\", \"False\" or \"Unknown\""
)]
pub(super) enum RawStatus {
    Flag(bool),
    Text(String),
}
