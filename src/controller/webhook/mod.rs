//! Defaulting and validation of jobs as they come in, as plain functions: in-process on the embedded
//! cluster, over HTTPS on a real one.
//!
//! Kueue's own kinds are defaulted and validated by [`kueue_lab_api`] alone; this is for what needs to
//! know the cluster. Must not know who asks.

mod deployment;
mod generic;
mod job;
mod job_set;
mod pod;
mod stateful_set;
mod topology;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Shared;
use super::jobs::ancestors::Owners;
use super::jobs::difference;
use super::jobs::env::Env;
use kueue_lab_api::field::{FieldErrors, aggregate};

/// What happens to the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// It is new.
    Create,
    /// It changes.
    Update,
    /// It goes.
    Delete,
}

/// A write that is asked about.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Kind of the object.
    pub kind: &'a str,
    /// API group, empty for core.
    pub group: &'a str,
    /// Namespace of the object; it may not have one itself yet.
    pub namespace: &'a str,
    /// What happens.
    pub operation: Operation,
    /// The object as it was, for updates.
    pub old: Option<&'a Value>,
}

/// Texts for the person who writes, where the write is let through.
pub type Warnings = Vec<String>;

/// Why a write is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Fields are wrong.
    #[error("{}", aggregate(.0))]
    Fields(FieldErrors),
    /// Another reason; a sentence.
    #[error("{0}")]
    Other(String),
}

impl From<FieldErrors> for Refusal {
    fn from(errors: FieldErrors) -> Self {
        Self::Fields(errors)
    }
}

/// A kind with webhooks.
#[derive(Debug)]
pub struct Kind {
    /// API group, empty for core.
    pub group: &'static str,
    /// The version objects are judged in.
    pub version: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// Plural resource name.
    pub resource: &'static str,
    /// The integration it belongs to.
    pub framework: &'static str,
    /// Part of the webhooks' names.
    pub name: &'static str,
    /// Whether it serves rather than ends, so that its pods are what is queued.
    pub serves: bool,
}

const fn kind(
    (group, version, kind): (&'static str, &'static str, &'static str),
    resource: &'static str,
    framework: &'static str,
    name: &'static str,
) -> Kind {
    Kind {
        group,
        version,
        kind,
        resource,
        framework,
        name,
        serves: false,
    }
}

const fn serving(kind: Kind) -> Kind {
    Kind {
        serves: true,
        ..kind
    }
}

/// The kinds with webhooks.
pub const KINDS: [Kind; 5] = [
    kind(("batch", "v1", "Job"), "jobs", "batch/job", "job"),
    kind(("", "v1", "Pod"), "pods", "pod", "pod"),
    serving(kind(
        ("apps", "v1", "Deployment"),
        "deployments",
        "deployment",
        "deployment",
    )),
    serving(kind(
        ("apps", "v1", "StatefulSet"),
        "statefulsets",
        "statefulset",
        "statefulset",
    )),
    kind(
        ("jobset.x-k8s.io", "v1alpha2", "JobSet"),
        "jobsets",
        "jobset.x-k8s.io/jobset",
        "jobset",
    ),
];

/// The webhooks of jobs.
#[derive(Clone)]
pub struct Webhooks {
    env: Env,
}

impl Webhooks {
    /// Webhooks that know the cluster as the controller does.
    pub fn new(shared: &Shared, owners: &Owners) -> Self {
        Self {
            env: Env::new(shared, owners, "webhook"),
        }
    }

    /// Whether writes of a resource are asked about.
    pub fn handles(&self, group: &str, resource: &str, subresource: &str) -> bool {
        subresource.is_empty()
            && KINDS.iter().any(|kind| {
                (kind.group, kind.resource) == (group, resource)
                    && self.env.frameworks.is_enabled(kind.framework)
            })
    }

    /// Whether an integration is turned on, by its name in the configuration.
    pub fn manages(&self, framework: &str) -> bool {
        self.env.frameworks.is_enabled(framework)
    }

    /// The name by which a kind's webhook refuses, such as `vjob.kb.io`.
    pub fn name(group: &str, kind: &str, mutating: bool) -> String {
        let found = KINDS.iter().find(|k| (k.group, k.kind) == (group, kind));
        let prefix = if mutating { 'm' } else { 'v' };
        format!("{prefix}{}.kb.io", found.map_or(kind, |k| k.name))
    }

    /// Fills in what a managed job has to have.
    ///
    /// # Errors
    /// The object cannot be read, or its owners cannot be found.
    pub async fn mutate(&self, request: &Request<'_>, object: &mut Value) -> Result<(), Refusal> {
        let (env, ns) = (&self.env, request.namespace);
        let new = request.operation == Operation::Create;
        match request.kind {
            _ if request.operation == Operation::Delete => Ok(()),
            "Job" if new => change(object, async |job| job::default(env, ns, job).await).await,
            "Pod" if new => change(object, async |pod| pod::default(env, ns, pod).await).await,
            "JobSet" if new => {
                change(object, async |set| job_set::default(env, ns, set).await).await
            }
            "Deployment" => change(object, async |d| deployment::default(env, ns, d).await).await,
            "StatefulSet" => {
                change(object, async |s| stateful_set::default(env, ns, s).await).await
            }
            _ => Ok(()),
        }
    }

    /// Looks at what is to be stored.
    ///
    /// # Errors
    /// The object is refused.
    pub async fn validate(
        &self,
        request: &Request<'_>,
        object: &Value,
    ) -> Result<Warnings, Refusal> {
        if request.operation == Operation::Delete {
            return Ok(Warnings::new());
        }
        let env = &self.env;
        let old = request
            .old
            .filter(|_| request.operation == Operation::Update);
        let ns = request.namespace;
        let (errors, warnings) = match request.kind {
            "Pod" => pod::validate(env, ns, &read(object)?, before(old)?.as_ref()),
            "Job" => without(job::validate(
                env,
                ns,
                &read(object)?,
                before(old)?.as_ref(),
            )),
            "JobSet" => without(job_set::validate(
                env,
                ns,
                &read(object)?,
                before(old)?.as_ref(),
            )),
            "Deployment" => without(deployment::validate(
                env,
                &read(object)?,
                before(old)?.as_ref(),
            )),
            "StatefulSet" => {
                let (new, old) = (read(object)?, before(old)?);
                without(stateful_set::validate(env, ns, &new, old.as_ref()).await?)
            }
            _ => return Ok(Warnings::new()),
        };
        match errors.is_empty() {
            true => Ok(warnings),
            false => Err(errors.into()),
        }
    }
}

fn without(errors: FieldErrors) -> (FieldErrors, Warnings) {
    (errors, Warnings::new())
}

fn before<K: DeserializeOwned>(old: Option<&Value>) -> Result<Option<K>, Refusal> {
    old.map(read).transpose()
}

fn read<K: DeserializeOwned>(object: &Value) -> Result<K, Refusal> {
    K::deserialize(object).map_err(|error| Refusal::Other(error.to_string()))
}

/// Changes an object as a typed one, leaving alone what the type does not know.
async fn change<K: DeserializeOwned + Serialize>(
    object: &mut Value,
    default: impl AsyncFnOnce(&mut K) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let mut typed: K = read(object)?;
    let value = |typed: &K| serde_json::to_value(typed).unwrap_or_default();
    let before = value(&typed);
    default(&mut typed).await?;
    let changes = difference(&before, &value(&typed));
    if changes.as_object().is_some_and(|map| !map.is_empty()) {
        json_patch::merge(object, &changes);
    }
    Ok(())
}
