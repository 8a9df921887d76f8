//! The controller of provisioning checks: event handlers and reconcile of a Workload.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::PodTemplate;
use kube::api::DeleteParams;

use super::{admission_check_reconciler, provisioning_request};
use crate::ControllerContext;
use crate::enqueue_request::enqueue_request_for_object;
use crate::event_recorder::EventSpec;
use crate::jobs::pod_set_info::{FlavorNotFoundError, PodSetInfoError};
use crate::object_meta;
use kueue_lab_api::config::Feature;
use kueue_lab_api::constants as c;
use kueue_lab_api::provisioning_request::ProvisioningRequest;
use kueue_lab_api::v1beta2::{AdmissionCheckState, ProvisioningRequestConfig, Workload};
use kueue_lab_controller_runtime::api_errors::ignore_not_found;
use kueue_lab_controller_runtime::{Api, Change, Informer, ObjectKey, ReconcileResult, WorkQueue};
use kueue_lab_engine::messages::EventType;
use kueue_lab_engine::workload::predicates;

/// Index of ProvisioningRequests by owner, as `namespace/name`.
const BY_OWNER_NAME: &str = "owner";

/// The reporting controller of Events.
pub(super) const REPORTING_CONTROLLER: &str = "kueue-provisioning-request-controller";

/// The provisioning controller: the informers it reads.
#[derive(Clone)]
pub(super) struct ProvisioningController {
    pub(super) shared: ControllerContext,
    pub(super) requests: Informer<ProvisioningRequest>,
    pub(super) templates: Informer<PodTemplate>,
}

/// The provisioning checks of a Workload with their ProvisioningRequestConfigs; None where the
/// config does not exist.
pub(super) type CheckConfigs = BTreeMap<String, Option<Arc<ProvisioningRequestConfig>>>;

/// The active or last ProvisioningRequest by check.
pub(super) type ActiveRequests = BTreeMap<String, Arc<ProvisioningRequest>>;

/// Starts the controller. It begins to reconcile when the ProvisioningRequest CRD exists.
pub(crate) fn start(shared: &ControllerContext) {
    let client = shared.ctx.client.clone();
    let requests = Informer::builder(Api::<ProvisioningRequest>::all(client.clone()))
        .index(BY_OWNER_NAME, |pr: &ProvisioningRequest| {
            let namespace = pr.metadata.namespace.clone().unwrap_or_default();
            let owners = pr.metadata.owner_references.iter().flatten();
            owners
                .map(|owner| format!("{namespace}/{}", owner.name))
                .collect()
        })
        .start(&shared.ctx);
    let templates = Informer::builder(Api::<PodTemplate>::all(client)).start(&shared.ctx);
    admission_check_reconciler::start(shared);
    let check = ProvisioningController {
        shared: shared.clone(),
        requests,
        templates,
    };
    shared.ctx.tasks.spawn("provisioning", async move {
        check.requests.wait_for_cache_sync().await;
        check.templates.wait_for_cache_sync().await;
        check.run();
    });
}

/// Whether the controller of an AdmissionCheck is the provisioning controller.
pub(super) fn is_provisioning_check(shared: &ControllerContext, check: &str) -> bool {
    let check = shared
        .informers
        .admission_checks
        .get(&ObjectKey::cluster(check));
    check.is_some_and(|check| check.spec.controller_name == c::PROVISIONING_REQUEST_CONTROLLER)
}

impl ProvisioningController {
    fn run(&self) {
        let queue = WorkQueue::new(&self.shared.ctx);
        self.add_event_handlers(&queue);
        let check = self.clone();
        queue.run(&self.shared.ctx, "provisioning", 1, move |key| {
            let check = check.clone();
            async move { check.reconcile(&key).await }
        });
    }

    /// Enqueues Workloads when they, their ProvisioningRequests, checks or configs change.
    fn add_event_handlers(&self, queue: &WorkQueue<ObjectKey>) {
        let informers = &self.shared.informers;
        enqueue_request_for_object(&informers.workloads, queue);
        let queue_handle = queue.clone();
        self.requests.add_event_handler(move |change| {
            let pr = change.object();
            let namespace = pr.metadata.namespace.clone().unwrap_or_default();
            let owners = pr.metadata.owner_references.iter().flatten();
            for owner in owners.filter(|owner| owner.controller == Some(true)) {
                queue_handle.add(ObjectKey::new(namespace.clone(), owner.name.clone()));
            }
        });
        let (queue_handle, s) = (queue.clone(), self.shared.clone());
        informers.admission_checks.add_event_handler(move |change| {
            let check = change.object();
            if check.spec.controller_name == c::PROVISIONING_REQUEST_CONTROLLER {
                enqueue_workloads_with_check(
                    &s,
                    &ObjectKey::of(check.as_ref()).name,
                    &queue_handle,
                );
            }
        });
        let (queue_handle, s) = (queue.clone(), self.shared.clone());
        informers
            .provisioning_request_configs
            .add_event_handler(move |change| {
                let config = match change {
                    Change::Updated { old, new }
                        if old.spec.provisioning_class_name == new.spec.provisioning_class_name
                            && old.spec.parameters == new.spec.parameters
                            && old.spec.managed_resources == new.spec.managed_resources =>
                    {
                        return;
                    }
                    Change::Added(config)
                    | Change::Updated { new: config, .. }
                    | Change::Deleted(config) => config,
                };
                let name = ObjectKey::of(config.as_ref()).name;
                for check in admission_check_reconciler::checks_using_config(&s, &name) {
                    enqueue_workloads_with_check(&s, &check, &queue_handle);
                }
            });
    }

    async fn reconcile(&self, key: &ObjectKey) -> Result<ReconcileResult, ProvisioningError> {
        let Some(wl) = self.shared.informers.workloads.get(key) else {
            return Ok(ReconcileResult::Done);
        };
        let (finished, evicted) = (predicates::is_finished(&wl), predicates::is_evicted(&wl));
        if !predicates::has_quota_reservation(&wl) && !finished && !evicted {
            return Ok(ReconcileResult::Done);
        }
        let owned = self.requests.by_index(BY_OWNER_NAME, &key.to_string());
        let cleanup_on_eviction = self
            .shared
            .settings
            .enabled(Feature::CleanupProvisioningRequestsOnEviction);
        if finished || (evicted && cleanup_on_eviction) {
            self.delete_unused_provisioning_requests(&owned, &ActiveRequests::new())
                .await?;
            return Ok(ReconcileResult::Done);
        }
        if evicted {
            return Ok(ReconcileResult::Done);
        }
        let configs = self.check_configs(&wl);
        let mut current = active_or_last_requests(&wl, &configs, &owned)?;
        let (wl, checks) = self.sync_check_states(&wl, &configs, &current).await?;
        self.delete_unused_provisioning_requests(&owned, &current)
            .await?;
        self.sync_owned_provisioning_requests(&wl, &checks, &configs, &mut current)
            .await?;
        Ok(ReconcileResult::Done)
    }

    fn check_configs(&self, wl: &Workload) -> CheckConfigs {
        let checks = wl.status.admission_checks.iter();
        let provisioning_checks =
            checks.filter(|check| is_provisioning_check(&self.shared, &check.name));
        provisioning_checks
            .map(|check| {
                (
                    check.name.clone(),
                    admission_check_reconciler::config_for_check(&self.shared, &check.name).ok(),
                )
            })
            .collect()
    }

    pub(super) fn record_event(
        &self,
        wl: &Workload,
        type_: EventType,
        reason: &str,
        message: String,
    ) {
        self.shared.recorder.record(
            wl,
            EventSpec::new(REPORTING_CONTROLLER, type_, reason, message),
        );
    }

    /// Deletes ProvisioningRequests that are not in `current`.
    async fn delete_unused_provisioning_requests(
        &self,
        owned: &[Arc<ProvisioningRequest>],
        current: &ActiveRequests,
    ) -> kube::Result<()> {
        for pr in owned {
            let name = object_meta::name(&pr.metadata);
            if current
                .values()
                .any(|kept| kept.metadata.name.as_deref() == Some(name))
            {
                continue;
            }
            let namespace = object_meta::namespace(&pr.metadata);
            let api =
                Api::<ProvisioningRequest>::namespaced(self.shared.ctx.client.clone(), namespace);
            ignore_not_found(api.delete(name, &DeleteParams::background()).await)?;
        }
        Ok(())
    }
}

fn enqueue_workloads_with_check(
    shared: &ControllerContext,
    check: &str,
    queue: &WorkQueue<ObjectKey>,
) {
    for wl in shared.informers.workloads.list() {
        let names = |state: &AdmissionCheckState| state.name == check;
        if wl.status.admission_checks.iter().any(names) {
            queue.add(ObjectKey::of(wl.as_ref()));
        }
    }
}

/// The latest attempt by check among the owned requests that match the config.
fn active_or_last_requests(
    wl: &Workload,
    configs: &CheckConfigs,
    owned: &[Arc<ProvisioningRequest>],
) -> Result<ActiveRequests, provisioning_request::InconsistentPodSetAssignments> {
    let mut current = ActiveRequests::new();
    for (check, config) in configs {
        let Some(config) = config else { continue };
        if !provisioning_request::request_is_needed(wl, &config.spec)? {
            continue;
        }
        let of_check = owned.iter().filter_map(|pr| {
            let attempt = provisioning_request::request_attempt(pr, predicates::name(wl), check)?;
            provisioning_request::is_synced_with_config(pr, &config.spec).then_some((attempt, pr))
        });
        if let Some((_, pr)) = of_check.max_by_key(|(attempt, _)| *attempt) {
            current.insert(check.clone(), pr.clone());
        }
    }
    Ok(current)
}

/// A failed reconciliation of a provisioning check.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProvisioningError {
    /// An API request failed.
    #[error(transparent)]
    Kube(#[from] kube::Error),
    /// The admission of the Workload is inconsistent.
    #[error(transparent)]
    Inconsistent(#[from] provisioning_request::InconsistentPodSetAssignments),
    /// A ResourceFlavor of the Workload is missing.
    #[error(transparent)]
    Flavor(#[from] FlavorNotFoundError),
    /// The flavors conflict with the pod template.
    #[error(transparent)]
    PodSet(#[from] PodSetInfoError),
}
