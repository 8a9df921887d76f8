//! Starts the controllers of the enabled integrations.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::PartialObjectMeta;
use parking_lot::Mutex;

use super::ancestor_job::AncestorFinder;
use super::batch_job::BatchJobKind;
use super::generic_job::JobKind;
use super::integration_callbacks::{INTEGRATIONS, SetupContext};
use super::integration_context::IntegrationContext;
use super::integration_manager::IntegrationManager;
use super::{
    elastic_job_ungater, generic_reconciler, leader_worker_set, single_object_job, stateful_set,
};
use crate::ControllerContext;
use crate::informers::{BY_LEADER_WORKER_SET, leader_worker_sets};
use crate::object_meta;
use kueue_lab_api::config::Feature;
use kueue_lab_controller_runtime::{Api, Change, Informer};

/// Starts the controllers of enabled integrations. Returns the ancestor finder, which the webhooks
/// use.
pub(crate) fn start(shared: &ControllerContext) -> AncestorFinder {
    let frameworks = IntegrationManager::new(&shared.settings.configuration);
    let ctx = &shared.ctx;
    let jobs = Informer::builder(Api::<Job>::all(ctx.client.clone()))
        .index(
            generic_reconciler::BY_OWNER_UID,
            generic_reconciler::owner_uids::<Job>,
        )
        .start(ctx);
    let mut owners = AncestorFinder::new(ctx.client.clone())
        .with_lookup(BatchJobKind::GVK, single_object_job::metadata_lookup(&jobs));
    let reads_sets = [stateful_set::FRAMEWORK, leader_worker_set::FRAMEWORK];
    let sets = reads_sets
        .into_iter()
        .any(|name| frameworks.is_enabled(name))
        .then(|| {
            Informer::builder(Api::<StatefulSet>::all(ctx.client.clone()))
                .index(BY_LEADER_WORKER_SET, |set: &StatefulSet| {
                    leader_worker_sets(&set.metadata)
                })
                .start(ctx)
        });
    if let Some(sets) = &sets {
        owners = owners.with_lookup(stateful_set::GVK, single_object_job::metadata_lookup(sets));
    }
    let setup = SetupContext {
        shared: shared.clone(),
        owners: owners.clone(),
        jobs,
        stateful_sets: sets,
    };
    let mut custom_kinds = CustomKinds::new();
    for integration in INTEGRATIONS {
        if frameworks.is_enabled(integration.framework) {
            match integration.crd_name() {
                None => (integration.start)(&setup),
                Some(crd) => {
                    let setup = setup.clone();
                    custom_kinds.insert(crd, Box::new(move || (integration.start)(&setup)));
                }
            }
        }
    }
    if shared
        .settings
        .enabled(Feature::ElasticJobsViaWorkloadSlices)
    {
        elastic_job_ungater::start(&IntegrationContext::new(shared, &owners, "elastic-job"));
    }
    start_when_crds_exist(shared, custom_kinds);
    owners
}

/// The start function of the controller of each kind, by the name of its CRD.
type CustomKinds = BTreeMap<String, Box<dyn FnOnce() + Send + Sync>>;

/// Starts the controller of each kind once its CRD exists.
fn start_when_crds_exist(shared: &ControllerContext, kinds: CustomKinds) {
    if kinds.is_empty() {
        return;
    }
    // Only metadata: CRDs are large.
    let api: Api<PartialObjectMeta<CustomResourceDefinition>> = Api::all(shared.ctx.client.clone());
    let definitions = Informer::builder(api).start(&shared.ctx);
    let waiting = Mutex::new(kinds);
    definitions.add_event_handler(move |change| {
        if matches!(change, Change::Deleted(_)) {
            return;
        }
        let start = waiting
            .lock()
            .remove(object_meta::name(&change.object().metadata));
        if let Some(start) = start {
            start();
        }
    });
}
