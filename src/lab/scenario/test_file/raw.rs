//! A test file as deserialized.

use serde::Deserialize;

use crate::duration::ScenarioDuration;
use crate::raw::RawStep;
use kueue_lab_yaml::Located;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RawTestFile {
    pub(super) preset: Option<Located<String>>,
    pub(super) queues: Option<Located<String>>,
    pub(super) kueue: Option<Located<String>>,
    pub(super) nodes: Option<Located<String>>,
    pub(super) seed: Option<u64>,
    pub(super) cases: Vec<Located<RawCase>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCase {
    pub(super) name: Located<String>,
    pub(super) limit: Option<ScenarioDuration>,
    pub(super) steps: Vec<Located<RawStep>>,
}
