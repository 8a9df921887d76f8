//! The integrations of kinds that custom resource definitions add, as a table (upstream
//! `IntegrationCallbacks`).

use futures::future::BoxFuture;
use kueue_lab_api::field::FieldErrors;
use kueue_lab_controller_runtime::{Api, Informer};
use serde_json::Value;

use super::ancestor_job::AncestorFinder;
use super::app_wrapper::AppWrapperKind;
use super::generic_job::JobKind;
use super::generic_reconciler;
use super::integration_context::IntegrationContext;
use super::integration_manager::Gvk;
use super::jax_job::JaxJobKind;
use super::job_set::JobSetKind;
use super::mpi_job::MpiJobKind;
use super::paddle_job::PaddleJobKind;
use super::pytorch_job::PyTorchJobKind;
use super::ray_cluster::RayClusterKind;
use super::ray_job::RayJobKind;
use super::ray_service::RayServiceKind;
use super::spark_application::SparkApplicationKind;
use super::tf_job::TfJobKind;
use super::train_job::TrainJobKind;
use super::xgboost_job::XgBoostJobKind;
use crate::ControllerContext;
use crate::jobs::webhooks::mutate_typed::{decode, mutate_custom_kind};
use crate::jobs::webhooks::{Denial, base_webhook};
use kueue_lab_api::config::Framework;

/// The result of a validating webhook.
type Validation<'a> = BoxFuture<'a, Result<FieldErrors, Denial>>;

/// The functions of one integration.
pub(crate) struct IntegrationCallbacks {
    /// The framework name in the configuration.
    pub framework: &'static str,
    /// Group, version and kind of the job.
    pub gvk: Gvk,
    /// Starts the controller. Called once the CustomResourceDefinition exists.
    pub start: fn(&ControllerContext, &AncestorFinder),
    /// The mutating webhook of new objects.
    pub default: for<'a> fn(
        &'a IntegrationContext,
        &'a str,
        &'a mut Value,
    ) -> BoxFuture<'a, Result<(), Denial>>,
    /// The validating webhook of new objects and, with the old object, of updates.
    pub validate:
        for<'a> fn(&'a IntegrationContext, &'a str, &'a Value, Option<&'a Value>) -> Validation<'a>,
}

/// All integrations of this form.
pub(crate) const INTEGRATION_CALLBACKS: &[IntegrationCallbacks] = &[
    callbacks::<AppWrapperKind>(),
    callbacks::<JobSetKind>(),
    callbacks::<JaxJobKind>(),
    callbacks::<MpiJobKind>(),
    callbacks::<PaddleJobKind>(),
    callbacks::<PyTorchJobKind>(),
    callbacks::<SparkApplicationKind>(),
    callbacks::<TfJobKind>(),
    callbacks::<TrainJobKind>(),
    callbacks::<XgBoostJobKind>(),
    callbacks::<RayClusterKind>(),
    callbacks::<RayJobKind>(),
    callbacks::<RayServiceKind>(),
];

/// The integration of a group and kind.
pub(crate) fn integration_callbacks(
    group: &str,
    kind: &str,
) -> Option<&'static IntegrationCallbacks> {
    INTEGRATION_CALLBACKS
        .iter()
        .find(|callbacks| (&*callbacks.gvk.group, &*callbacks.gvk.kind) == (group, kind))
}

const fn callbacks<K: JobKind>() -> IntegrationCallbacks
where
    K::Object: Default,
{
    IntegrationCallbacks {
        framework: K::FRAMEWORK,
        gvk: K::GVK,
        start: start::<K>,
        default: default::<K>,
        validate: validate::<K>,
    }
}

fn start<K: JobKind>(shared: &ControllerContext, owners: &AncestorFinder)
where
    K::Object: Default,
{
    let jobs = Informer::builder(Api::<K::Object>::all(shared.ctx.client.clone()))
        .index(
            generic_reconciler::BY_OWNER_UID,
            generic_reconciler::owner_uids::<K::Object>,
        )
        .start(&shared.ctx);
    let env = IntegrationContext::new(shared, owners, K::FRAMEWORK);
    generic_reconciler::start::<K>(&env, &jobs);
}

fn default<'a, K: JobKind>(
    env: &'a IntegrationContext,
    namespace: &'a str,
    object: &'a mut Value,
) -> BoxFuture<'a, Result<(), Denial>> {
    Box::pin(mutate_custom_kind(object, async move |job| {
        base_webhook::default::<K>(env, namespace, job).await
    }))
}

fn validate<'a, K: JobKind>(
    env: &'a IntegrationContext,
    namespace: &'a str,
    object: &'a Value,
    old: Option<&'a Value>,
) -> Validation<'a> {
    Box::pin(async move {
        let new = decode(object)?;
        match old {
            None => K::validate_create(env, namespace, &new).await,
            Some(old) => K::validate_update(env, namespace, &new, &decode(old)?).await,
        }
    })
}

impl IntegrationCallbacks {
    /// The name of the CustomResourceDefinition of the job.
    pub(crate) fn crd_name(&self) -> String {
        let resource = Framework::named(self.framework).map_or("", |found| found.resource);
        format!("{resource}.{}", self.gvk.group)
    }
}
