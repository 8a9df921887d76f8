//! Dispatch of a request to the webhook of its kind.

use serde_json::Value;

use super::mutate_typed::{decode, decode_old, mutate_custom_kind, mutate_typed};
use super::response::{Denial, Warnings};
use super::{deployment, job, leader_worker_set, pod, stateful_set};
use crate::ControllerContext;
use crate::jobs::ancestor_job::AncestorFinder;
use crate::jobs::integration_callbacks::integration_callbacks;
use crate::jobs::integration_context::IntegrationContext;
use kueue_lab_api::config::FRAMEWORKS;
use kueue_lab_api::field::FieldErrors;
use kueue_lab_apimachinery::admission_request::{AdmissionRequest, Operation};

/// The mutating and validating webhooks of jobs.
#[derive(Clone)]
pub struct JobWebhooks {
    env: IntegrationContext,
}

impl JobWebhooks {
    /// Webhooks that share the informers of the controller.
    pub(crate) fn new(shared: &ControllerContext, owners: &AncestorFinder) -> Self {
        Self {
            env: IntegrationContext::new(shared, owners, "webhook"),
        }
    }

    /// Whether a webhook is registered for a resource.
    pub fn handles(&self, group: &str, resource: &str, subresource: &str) -> bool {
        subresource.is_empty()
            && FRAMEWORKS.iter().any(|framework| {
                (framework.group, framework.resource) == (group, resource)
                    && self.env.integrations.is_enabled(framework.name)
            })
    }

    /// Whether an integration is enabled, by its framework name.
    pub fn is_integration_enabled(&self, framework: &str) -> bool {
        self.env.integrations.is_enabled(framework)
    }

    /// Defaults a job.
    ///
    /// # Errors
    /// The object cannot be decoded, or its owners cannot be read.
    pub async fn mutate(
        &self,
        request: &AdmissionRequest<'_>,
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
            "Deployment" => {
                mutate_typed(object, async |d| deployment::default(env, ns, d).await).await
            }
            "StatefulSet" => {
                mutate_typed(object, async |s| stateful_set::default(env, ns, s).await).await
            }
            "LeaderWorkerSet" => {
                mutate_custom_kind(object, async |lws| {
                    leader_worker_set::default(env, ns, lws).await
                })
                .await
            }
            kind if new => match integration_callbacks(request.kind_group, kind) {
                Some(callbacks) => (callbacks.default)(env, ns, object).await,
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Validates a job.
    ///
    /// # Errors
    /// The object is denied.
    pub async fn validate(
        &self,
        request: &AdmissionRequest<'_>,
        object: &Value,
    ) -> Result<Warnings, Denial> {
        if request.operation == Operation::Delete {
            return Ok(Warnings::new());
        }
        let env = &self.env;
        let old = request
            .old_object
            .filter(|_| request.operation == Operation::Update);
        let ns = request.namespace;
        let (errors, warnings) = match request.kind {
            "Pod" => pod::validate(env, ns, &decode(object)?, decode_old(old)?.as_ref()),
            "Job" => without_warnings(job::validate(
                env,
                ns,
                &decode(object)?,
                decode_old(old)?.as_ref(),
            )),
            "Deployment" => without_warnings(deployment::validate(
                env,
                &decode(object)?,
                decode_old(old)?.as_ref(),
            )),
            "StatefulSet" => {
                let (new, old) = (decode(object)?, decode_old(old)?);
                without_warnings(stateful_set::validate(env, ns, &new, old.as_ref()).await?)
            }
            "LeaderWorkerSet" => {
                let (new, old) = (decode(object)?, decode_old(old)?);
                without_warnings(leader_worker_set::validate(env, ns, &new, old.as_ref()).await?)
            }
            kind => match integration_callbacks(request.kind_group, kind) {
                Some(callbacks) => {
                    without_warnings((callbacks.validate)(env, ns, object, old).await?)
                }
                None => return Ok(Warnings::new()),
            },
        };
        match errors.is_empty() {
            true => Ok(warnings),
            false => Err(errors.into()),
        }
    }
}

fn without_warnings(errors: FieldErrors) -> (FieldErrors, Warnings) {
    (errors, Warnings::new())
}
