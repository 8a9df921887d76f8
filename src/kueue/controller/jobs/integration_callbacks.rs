//! The integrations as a table (upstream `IntegrationCallbacks`, `RegisterIntegration`): what the
//! controllers, the webhooks and the MultiKueue adapters of a kind of jobs are.

use futures::future::BoxFuture;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::batch::v1::Job;
use kueue_lab_api::field::FieldErrors;
use kueue_lab_controller_runtime::{Api, Informer};
use serde_json::Value;

use super::ancestor_job::AncestorFinder;
use super::app_wrapper::AppWrapperKind;
use super::batch_job::BatchJobKind;
use super::generic_job::JobKind;
use super::integration_context::IntegrationContext;
use super::integration_manager::Gvk;
use super::job_set::JobSetKind;
use super::mpi_job::MpiJobKind;
use super::multikueue::{ManagedBy, Sync};
use super::ray_cluster::RayClusterKind;
use super::ray_job::RayJobKind;
use super::ray_service::RayServiceKind;
use super::spark_application::SparkApplicationKind;
use super::train_job::TrainJobKind;
use super::training_operator_jobs::{
    JaxJobKind, PaddleJobKind, PyTorchJobKind, TfJobKind, XgBoostJobKind,
};
use super::{generic_reconciler, leader_worker_set, pods, stateful_set};
use crate::ControllerContext;
use crate::jobs::webhooks::mutate_typed::{decode, decode_old, mutate_custom_kind, mutate_typed};
use crate::jobs::webhooks::{self, Denial, Warnings, base_webhook};
use kueue_lab_api::config::Framework;
use kueue_lab_apimachinery::admission_request::{AdmissionRequest, Operation};

/// The result of a mutating webhook.
type Defaulting<'a> = BoxFuture<'a, Result<(), Denial>>;

/// The result of a validating webhook.
type Validation<'a> = BoxFuture<'a, Result<(FieldErrors, Warnings), Denial>>;

/// What the controllers of integrations start with.
#[derive(Clone)]
pub(super) struct SetupContext {
    pub shared: ControllerContext,
    pub owners: AncestorFinder,
    pub jobs: Informer<Job>,
    /// If an integration reads StatefulSets.
    pub stateful_sets: Option<Informer<StatefulSet>>,
}

impl SetupContext {
    fn env(&self, framework: &str) -> IntegrationContext {
        IntegrationContext::new(&self.shared, &self.owners, framework)
    }
}

/// The functions of one integration.
pub(crate) struct IntegrationCallbacks {
    /// The framework name in the configuration.
    pub framework: &'static str,
    /// Group, version and kind of the job.
    pub gvk: Gvk,
    /// Starts the controller. Of a custom kind, called once its CustomResourceDefinition exists.
    pub(super) start: fn(&SetupContext),
    /// The mutating webhook of new and updated objects.
    pub default: for<'a> fn(
        &'a IntegrationContext,
        &'a AdmissionRequest<'a>,
        &'a mut Value,
    ) -> Defaulting<'a>,
    /// The validating webhook of new objects and, with the old object, of updates.
    pub validate:
        for<'a> fn(&'a IntegrationContext, &'a str, &'a Value, Option<&'a Value>) -> Validation<'a>,
    /// How MultiKueue syncs the jobs of the kind.
    pub multi_kueue: Option<Sync>,
}

const SPEC_MANAGED_BY: ManagedBy = ManagedBy {
    path: &["managedBy"],
    named: "spec.managedBy",
};

/// The field in the run policy of Kubeflow's jobs, with its name in messages.
const fn run_policy_managed_by(named: &'static str) -> Option<Sync> {
    let path = &["runPolicy", "managedBy"];
    Some(Sync::CopyStatus(ManagedBy { path, named }))
}

/// The status is copied.
const STATUS: Option<Sync> = Some(Sync::CopyStatus(SPEC_MANAGED_BY));

/// The kinds of Kubeflow's training operator name the field of the run policy by another path.
const TRAINING_OPERATOR: Option<Sync> = run_policy_managed_by("spec.managedBy");

/// All integrations: those with their own webhooks, then the others.
pub(crate) const INTEGRATIONS: &[IntegrationCallbacks] = &[
    IntegrationCallbacks {
        framework: BatchJobKind::FRAMEWORK,
        gvk: BatchJobKind::GVK,
        start: |setup| {
            let env = setup.env(BatchJobKind::FRAMEWORK);
            generic_reconciler::start::<BatchJobKind>(&env, &setup.jobs);
        },
        default: |env, request, object| {
            Box::pin(async move {
                if request.operation != Operation::Create {
                    return Ok(());
                }
                let ns = request.namespace;
                mutate_typed(object, async |job| {
                    webhooks::job::default(env, ns, job).await
                })
                .await
            })
        },
        validate: |env, namespace, object, old| {
            Box::pin(async move {
                let (new, old) = (decode(object)?, decode_old(old)?);
                let errors = webhooks::job::validate(env, namespace, &new, old.as_ref());
                Ok((errors, Warnings::new()))
            })
        },
        multi_kueue: Some(Sync::Job(SPEC_MANAGED_BY)),
    },
    IntegrationCallbacks {
        framework: pods::FRAMEWORK,
        gvk: webhooks::pod::GVK,
        start: |setup| pods::start(&setup.env(pods::FRAMEWORK)),
        default: |env, request, object| {
            Box::pin(async move {
                if request.operation != Operation::Create {
                    return Ok(());
                }
                let ns = request.namespace;
                mutate_typed(object, async |pod| {
                    webhooks::pod::default(env, ns, pod).await
                })
                .await
            })
        },
        validate: |env, namespace, object, old| {
            Box::pin(async move {
                let (new, old) = (decode(object)?, decode_old(old)?);
                Ok(webhooks::pod::validate(env, namespace, &new, old.as_ref()))
            })
        },
        multi_kueue: Some(Sync::Pod),
    },
    IntegrationCallbacks {
        framework: webhooks::deployment::FRAMEWORK,
        gvk: webhooks::deployment::GVK,
        // Only its pods have a controller.
        start: |_| {},
        default: |env, request, object| {
            Box::pin(mutate_typed(object, async move |deployment| {
                webhooks::deployment::default(env, request.namespace, deployment).await
            }))
        },
        validate: |env, _namespace, object, old| {
            Box::pin(async move {
                let (new, old) = (decode(object)?, decode_old(old)?);
                let errors = webhooks::deployment::validate(env, &new, old.as_ref());
                Ok((errors, Warnings::new()))
            })
        },
        multi_kueue: None,
    },
    IntegrationCallbacks {
        framework: stateful_set::FRAMEWORK,
        gvk: stateful_set::GVK,
        start: |setup| {
            if let Some(sets) = &setup.stateful_sets {
                stateful_set::start(&setup.env(stateful_set::FRAMEWORK), sets);
            }
        },
        default: |env, request, object| {
            Box::pin(mutate_typed(object, async move |set| {
                webhooks::stateful_set::default(env, request.namespace, set).await
            }))
        },
        validate: |env, namespace, object, old| {
            Box::pin(async move {
                let (new, old) = (decode(object)?, decode_old(old)?);
                let errors =
                    webhooks::stateful_set::validate(env, namespace, &new, old.as_ref()).await?;
                Ok((errors, Warnings::new()))
            })
        },
        multi_kueue: Some(Sync::StatefulSet),
    },
    IntegrationCallbacks {
        framework: leader_worker_set::FRAMEWORK,
        gvk: leader_worker_set::GVK,
        start: |setup| {
            if let Some(sets) = &setup.stateful_sets {
                leader_worker_set::start(&setup.env(leader_worker_set::FRAMEWORK), sets);
            }
        },
        default: |env, request, object| {
            Box::pin(mutate_custom_kind(object, async move |set| {
                webhooks::leader_worker_set::default(env, request.namespace, set).await
            }))
        },
        validate: |env, namespace, object, old| {
            Box::pin(async move {
                let (new, old) = (decode(object)?, decode_old(old)?);
                let errors =
                    webhooks::leader_worker_set::validate(env, namespace, &new, old.as_ref())
                        .await?;
                Ok((errors, Warnings::new()))
            })
        },
        multi_kueue: Some(Sync::LeaderWorkerSet),
    },
    callbacks::<AppWrapperKind>(STATUS),
    callbacks::<JobSetKind>(STATUS),
    callbacks::<JaxJobKind>(TRAINING_OPERATOR),
    callbacks::<MpiJobKind>(run_policy_managed_by("spec.runPolicy.managedBy")),
    callbacks::<PaddleJobKind>(TRAINING_OPERATOR),
    callbacks::<PyTorchJobKind>(TRAINING_OPERATOR),
    callbacks::<SparkApplicationKind>(None),
    callbacks::<TfJobKind>(TRAINING_OPERATOR),
    callbacks::<TrainJobKind>(STATUS),
    callbacks::<XgBoostJobKind>(TRAINING_OPERATOR),
    callbacks::<RayClusterKind>(STATUS),
    callbacks::<RayJobKind>(STATUS),
    callbacks::<RayServiceKind>(STATUS),
];

/// The integration of a group and kind.
pub(crate) fn integration_of_kind(
    group: &str,
    kind: &str,
) -> Option<&'static IntegrationCallbacks> {
    INTEGRATIONS
        .iter()
        .find(|integration| (&*integration.gvk.group, &*integration.gvk.kind) == (group, kind))
}

/// A custom kind with the generic reconciler and webhooks.
const fn callbacks<K: JobKind>(multi_kueue: Option<Sync>) -> IntegrationCallbacks
where
    K::Object: Default,
{
    IntegrationCallbacks {
        framework: K::FRAMEWORK,
        gvk: K::GVK,
        start: start::<K>,
        default: default::<K>,
        validate: validate::<K>,
        multi_kueue,
    }
}

fn start<K: JobKind>(setup: &SetupContext)
where
    K::Object: Default,
{
    let ctx = &setup.shared.ctx;
    let jobs = Informer::builder(Api::<K::Object>::all(ctx.client.clone()))
        .index(
            generic_reconciler::BY_OWNER_UID,
            generic_reconciler::owner_uids::<K::Object>,
        )
        .start(ctx);
    generic_reconciler::start::<K>(&setup.env(K::FRAMEWORK), &jobs);
}

fn default<'a, K: JobKind>(
    env: &'a IntegrationContext,
    request: &'a AdmissionRequest<'a>,
    object: &'a mut Value,
) -> Defaulting<'a> {
    Box::pin(async move {
        if request.operation != Operation::Create {
            return Ok(());
        }
        let ns = request.namespace;
        mutate_custom_kind(object, async |job| {
            base_webhook::default::<K>(env, ns, job).await
        })
        .await
    })
}

fn validate<'a, K: JobKind>(
    env: &'a IntegrationContext,
    namespace: &'a str,
    object: &'a Value,
    old: Option<&'a Value>,
) -> Validation<'a> {
    Box::pin(async move {
        let new = decode(object)?;
        let errors = match old {
            None => K::validate_create(env, namespace, &new).await?,
            Some(old) => K::validate_update(env, namespace, &new, &decode(old)?).await?,
        };
        Ok((errors, Warnings::new()))
    })
}

impl IntegrationCallbacks {
    /// The name of the CustomResourceDefinition of the job; none for kinds of Kubernetes, whose
    /// groups have no dot.
    pub(crate) fn crd_name(&self) -> Option<String> {
        let group = &self.gvk.group;
        let resource = Framework::named(self.framework)?.resource;
        group.contains('.').then(|| format!("{resource}.{group}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kueue_lab_api::config::FRAMEWORKS;

    #[test]
    fn each_framework_is_registered_as_the_configuration_knows_it() {
        let registered = |framework: &&Framework| {
            let name = framework.name;
            let mut named = INTEGRATIONS.iter().filter(|i| i.framework == name);
            let integration = named.next().unwrap_or_else(|| panic!("{name} is missing"));
            assert!(named.next().is_none(), "{name} is there twice");
            let gvk = Gvk::new(framework.group, framework.version, framework.kind);
            assert_eq!(integration.gvk, gvk, "{name}");
            let syncs = integration.multi_kueue.is_some();
            assert_eq!(syncs, framework.multi_kueue, "{name}");
        };
        FRAMEWORKS
            .iter()
            .for_each(|framework| registered(&framework));
        assert_eq!(INTEGRATIONS.len(), FRAMEWORKS.len());
        let crd = |kind| integration_of_kind("leaderworkerset.x-k8s.io", kind)?.crd_name();
        let lws = "leaderworkersets.leaderworkerset.x-k8s.io";
        assert_eq!(crd("LeaderWorkerSet").as_deref(), Some(lws));
        assert_eq!(
            integration_of_kind("apps", "StatefulSet")
                .unwrap()
                .crd_name(),
            None
        );
    }
}
