//! Parses a task file.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::resources::{self, TaskResources};
use crate::config::TaskConfigOverrides;
use kueue_lab_yaml::{Limits, Located, Node, Position, Problem, from_node, parse};

/// An invalid task file.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct TaskError(#[from] pub Problem);

/// The maximum number of nodes of a task.
const MAX_NODES: u32 = 1024;

/// A SkyPilot task.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// `name`; without it the name comes from the command.
    pub name: Option<String>,
    /// The number of Pods: a head and workers.
    pub num_nodes: u32,
    /// Resources of one node; the first alternative that fits is used.
    pub resources: Vec<TaskResources>,
    /// The commands of the job.
    pub run: Option<String>,
    /// Commands run before the job.
    pub setup: Option<String>,
    /// Environment variables of the commands.
    pub envs: BTreeMap<String, String>,
    /// Settings that override `~/.sky/config.yaml` for this task.
    pub config: TaskConfigOverrides,
}

impl Task {
    /// The GPUs of each node, of the first alternative.
    pub(crate) fn gpus_per_node(&self) -> u32 {
        let resources = self.resources.first();
        let accelerator = resources.and_then(|resources| resources.accelerator.as_ref());
        accelerator.map_or(0, |accelerator| accelerator.count)
    }

    /// Parses a file with one task.
    ///
    /// # Errors
    /// The file is not YAML, SkyPilot would reject it, or the lab does not emulate a field.
    pub fn parse(text: &str) -> Result<Self, TaskError> {
        let mut documents = parse(text, Limits::default())?;
        documents.retain(|d| !d.is_null());
        if let Some(second) = documents.get(1) {
            let message = "a file of several tasks is a pipeline, which the lab does not run; \
                           keep one task to a file";
            return Err(Problem::new(second.at, message).into());
        }
        match documents.first() {
            Some(document) => Self::from_yaml(document),
            None => Err(Problem::new(Position::START, "the file has no task").into()),
        }
    }

    /// Parses the file that SkyPilot's API server submits to a jobs controller: a document with the name of
    /// the job, and that of its task.
    ///
    /// # Errors
    /// As [`Task::parse`].
    pub fn parse_submitted(text: &str) -> Result<Self, TaskError> {
        let mut documents = parse(text, Limits::default())?;
        documents.retain(|d| !d.is_null());
        match &documents[..] {
            [_, document] => Self::from_yaml(document),
            [_, _, second, ..] => {
                let message = "a file of several tasks is a pipeline, which the lab does not run";
                Err(Problem::new(second.at, message).into())
            }
            _ => Err(Problem::new(Position::START, "the file has no task").into()),
        }
    }

    /// Parses a task from a YAML document.
    ///
    /// # Errors
    /// As [`Task::parse`].
    pub fn from_yaml(document: &Node) -> Result<Self, TaskError> {
        let raw: RawTask = from_node(document)?;
        raw.check(document)?;
        let num_nodes = match &raw.num_nodes {
            None => 1,
            Some(n) if (1..=MAX_NODES).contains(&n.value) => n.value,
            Some(n) => {
                let message = format!("num_nodes must be from 1 to {MAX_NODES}, not {}", n.value);
                return Err(Problem::new(n.at, message).into());
            }
        };
        let alternatives = match raw.resources {
            Some(resources) => resources.value.alternatives(resources.at)?,
            None => vec![TaskResources::default()],
        };
        let text = |value: Option<Value>| match value {
            Some(Value::String(text)) => text,
            _ => String::new(),
        };
        let envs = raw.envs.into_iter();
        Ok(Self {
            envs: envs.map(|(name, value)| (name, text(value))).collect(),
            name: raw.name,
            num_nodes,
            resources: alternatives,
            run: raw.run,
            setup: raw.setup,
            config: raw.config,
        })
    }
}

/// The file as deserialized. Fields that do not affect Pods are ignored.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTask {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    num_nodes: Option<Located<u32>>,
    #[serde(default)]
    resources: Option<Located<resources::RawResources>>,
    #[serde(default)]
    setup: Option<String>,
    #[serde(default)]
    run: Option<String>,
    #[serde(default)]
    config: TaskConfigOverrides,
    #[serde(default)]
    envs: BTreeMap<String, Option<Value>>,
    #[serde(default, rename = "workdir")]
    _workdir: Option<IgnoredAny>,
    #[serde(default, rename = "event_callback")]
    _event_callback: Option<IgnoredAny>,
    #[serde(default, rename = "file_mounts")]
    _file_mounts: Option<IgnoredAny>,
    #[serde(default, rename = "file_mounts_mapping")]
    _file_mounts_mapping: Option<IgnoredAny>,
    #[serde(default, rename = "secrets")]
    _secrets: Option<IgnoredAny>,
    #[serde(default, rename = "managed_secrets")]
    _managed_secrets: Option<IgnoredAny>,
    #[serde(default, rename = "inputs")]
    _inputs: Option<IgnoredAny>,
    #[serde(default, rename = "outputs")]
    _outputs: Option<IgnoredAny>,
    #[serde(default, rename = "api_server_access")]
    _api_server_access: Option<bool>,
    #[serde(default, rename = "_metadata")]
    _metadata: Option<IgnoredAny>,
    #[serde(default)]
    service: Option<IgnoredAny>,
    #[serde(default)]
    pool: Option<IgnoredAny>,
    #[serde(default, rename = "_user_specified_yaml")]
    _user_specified_yaml: Option<IgnoredAny>,
    #[serde(default)]
    volumes: Option<BTreeMap<String, IgnoredAny>>,
    #[serde(default)]
    volume_mounts: Option<IgnoredAny>,
}

impl RawTask {
    /// Checks what SkyPilot or the lab rejects beyond the schema.
    fn check(&self, document: &Node) -> Result<(), Problem> {
        let at = |key: &str| document.entry(key).map_or(document.at, |e| e.at);
        for (key, present) in [
            ("service", self.service.is_some()),
            ("pool", self.pool.is_some()),
            (
                "volumes",
                self.volumes.as_ref().is_some_and(|v| !v.is_empty()),
            ),
            ("volume_mounts", self.volume_mounts.is_some()),
        ] {
            if present {
                let message = format!("the lab does not emulate {key:?}; remove it");
                return Err(Problem::new(at(key), message));
            }
        }
        for (name, value) in &self.envs {
            let mut letters = name.chars();
            let first = letters
                .next()
                .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
            let entry = document.get("envs").and_then(|envs| envs.entry(name));
            let (key_at, value_at) =
                entry.map_or((document.at, document.at), |e| (e.at, e.value.at));
            if !first || !letters.all(|c| c.is_ascii_alphanumeric() || c == '_') {
                let message = format!("{name:?} is not a valid name of an environment variable");
                return Err(Problem::new(key_at, message));
            }
            if value.as_ref().is_some_and(|v| !v.is_string()) {
                let message = format!("the value of {name} must be a string; put quotes around it");
                return Err(Problem::new(value_at, message));
            }
        }
        Ok(())
    }
}
