//! Defaulting and validation of jobs as they come in, as plain functions: in-process on the embedded
//! cluster, over HTTPS on a real one.
//!
//! Kueue's own kinds are defaulted and validated by [`kueue_lab_api`] alone; this is for what needs to
//! know the cluster. Must not know who asks.

mod deployment;
mod job;
mod job_set;
mod pod;
mod stateful_set;
mod tas_validation;
mod validation;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::ControllerContext;
use super::jobs::ancestor_job::AncestorFinder;
use super::jobs::create_merge_patch;
use super::jobs::integration_context::IntegrationContext;
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
pub struct WebhookRequest<'a> {
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
pub enum Denial {
    /// Fields are wrong.
    #[error("{}", aggregate(.0))]
    Fields(FieldErrors),
    /// Another reason; a sentence.
    #[error("{0}")]
    Other(String),
}

impl From<FieldErrors> for Denial {
    fn from(errors: FieldErrors) -> Self {
        Self::Fields(errors)
    }
}

/// A kind with webhooks.
#[derive(Debug)]
pub struct JobWebhookKind {
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
    pub is_serving: bool,
}

const fn kind(
    (group, version, kind): (&'static str, &'static str, &'static str),
    resource: &'static str,
    framework: &'static str,
    name: &'static str,
) -> JobWebhookKind {
    JobWebhookKind {
        group,
        version,
        kind,
        resource,
        framework,
        name,
        is_serving: false,
    }
}

const fn serving(kind: JobWebhookKind) -> JobWebhookKind {
    JobWebhookKind {
        is_serving: true,
        ..kind
    }
}

/// The kinds with webhooks.
pub const KINDS: [JobWebhookKind; 5] = [
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
pub struct JobWebhooks {
    env: IntegrationContext,
}

impl JobWebhooks {
    /// Webhooks that know the cluster as the controller does.
    pub fn new(shared: &ControllerContext, owners: &AncestorFinder) -> Self {
        Self {
            env: IntegrationContext::new(shared, owners, "webhook"),
        }
    }

    /// Whether writes of a resource are asked about.
    pub fn handles(&self, group: &str, resource: &str, subresource: &str) -> bool {
        subresource.is_empty()
            && KINDS.iter().any(|kind| {
                (kind.group, kind.resource) == (group, resource)
                    && self.env.integrations.is_enabled(kind.framework)
            })
    }

    /// Whether an integration is turned on, by its name in the configuration.
    pub fn is_integration_enabled(&self, framework: &str) -> bool {
        self.env.integrations.is_enabled(framework)
    }

    /// The name by which a kind's webhook refuses, such as `vjob.kb.io`.
    pub fn webhook_name(group: &str, kind: &str, mutating: bool) -> String {
        let found = KINDS.iter().find(|k| (k.group, k.kind) == (group, kind));
        let prefix = if mutating { 'm' } else { 'v' };
        format!("{prefix}{}.kb.io", found.map_or(kind, |k| k.name))
    }

    /// Fills in what a managed job has to have.
    ///
    /// # Errors
    /// The object cannot be read, or its owners cannot be found.
    pub async fn mutate(
        &self,
        request: &WebhookRequest<'_>,
        object: &mut Value,
    ) -> Result<(), Denial> {
        let (env, ns) = (&self.env, request.namespace);
        let new = request.operation == Operation::Create;
        match request.kind {
            _ if request.operation == Operation::Delete => Ok(()),
            "Job" if new => {
                mutate_typed(object, async |job| job::default(env, ns, job).await).await
            }
            "Pod" if new => {
                mutate_typed(object, async |pod| pod::default(env, ns, pod).await).await
            }
            "JobSet" if new => {
                mutate_typed(object, async |set| job_set::default(env, ns, set).await).await
            }
            "Deployment" => {
                mutate_typed(object, async |d| deployment::default(env, ns, d).await).await
            }
            "StatefulSet" => {
                mutate_typed(object, async |s| stateful_set::default(env, ns, s).await).await
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
        request: &WebhookRequest<'_>,
        object: &Value,
    ) -> Result<Warnings, Denial> {
        if request.operation == Operation::Delete {
            return Ok(Warnings::new());
        }
        let env = &self.env;
        let old = request
            .old
            .filter(|_| request.operation == Operation::Update);
        let ns = request.namespace;
        let (errors, warnings) = match request.kind {
            "Pod" => pod::validate(env, ns, &decode(object)?, decode_old(old)?.as_ref()),
            "Job" => without(job::validate(
                env,
                ns,
                &decode(object)?,
                decode_old(old)?.as_ref(),
            )),
            "JobSet" => without(job_set::validate(
                env,
                ns,
                &decode(object)?,
                decode_old(old)?.as_ref(),
            )),
            "Deployment" => without(deployment::validate(
                env,
                &decode(object)?,
                decode_old(old)?.as_ref(),
            )),
            "StatefulSet" => {
                let (new, old) = (decode(object)?, decode_old(old)?);
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

fn decode_old<K: DeserializeOwned>(old: Option<&Value>) -> Result<Option<K>, Denial> {
    old.map(decode).transpose()
}

fn decode<K: DeserializeOwned>(object: &Value) -> Result<K, Denial> {
    K::deserialize(object).map_err(|error| Denial::Other(error.to_string()))
}

/// Changes an object as a typed one, leaving alone what the type does not know.
async fn mutate_typed<K: DeserializeOwned + Serialize>(
    object: &mut Value,
    default: impl AsyncFnOnce(&mut K) -> Result<(), Denial>,
) -> Result<(), Denial> {
    let mut typed: K = decode(object)?;
    let value = |typed: &K| serde_json::to_value(typed).unwrap_or_default();
    let before = value(&typed);
    default(&mut typed).await?;
    let changes = create_merge_patch(&before, &value(&typed));
    if changes.as_object().is_some_and(|map| !map.is_empty()) {
        json_patch::merge(object, &changes);
    }
    Ok(())
}
