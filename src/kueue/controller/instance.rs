//! A controller instance: webhooks only as a follower, all controllers as the leader.

use crate::jobs::ancestor_job::AncestorFinder;
use crate::settings::ControllerConfig;
use crate::{
    ControllerContext, JobWebhooks, admission_checks, concurrent_admission, core, failure_recovery,
    jobs, scheduler, tas,
};
use kueue_lab_api::config::Feature;
use kueue_lab_controller_runtime::Context;

/// An instance with synced informers and webhooks but without controllers: a follower.
pub struct WebhooksOnlyInstance {
    shared: ControllerContext,
    webhooks: JobWebhooks,
}

impl WebhooksOnlyInstance {
    /// Starts the informers and waits until they are synced.
    pub async fn start(ctx: &Context, config: ControllerConfig) -> Self {
        let shared = ControllerContext::new(ctx, config).await;
        shared.informers.wait_for_cache_sync().await;
        // Owners of jobs are read from the API server until their informers start.
        let webhooks = JobWebhooks::new(&shared, &AncestorFinder::new(ctx.client.clone()));
        Self { shared, webhooks }
    }

    /// The state shared by the controllers.
    pub fn shared(&self) -> &ControllerContext {
        &self.shared
    }

    /// The webhooks of jobs.
    pub fn webhooks(&self) -> &JobWebhooks {
        &self.webhooks
    }

    /// Starts all controllers.
    pub fn become_leader(self) -> Controller {
        let shared = self.shared;
        core::start(&shared);
        if shared.settings.enabled(Feature::TopologyAwareScheduling) {
            tas::start(&shared);
        }
        if shared.settings.enabled(Feature::FailureRecoveryPolicy) {
            failure_recovery::start(&shared);
        }
        admission_checks::start(&shared);
        concurrent_admission::start(&shared);
        let owners = jobs::start(&shared);
        scheduler::start(&shared);
        let webhooks = JobWebhooks::new(&shared, &owners);
        Controller { shared, webhooks }
    }
}

/// A running controller. Its tasks end with the [`Context`] it was started with.
#[derive(Clone)]
pub struct Controller {
    shared: ControllerContext,
    webhooks: JobWebhooks,
}

impl Controller {
    /// Starts the controller and waits until its informers are synced.
    pub async fn start(ctx: &Context, config: ControllerConfig) -> Self {
        WebhooksOnlyInstance::start(ctx, config)
            .await
            .become_leader()
    }

    /// The state shared by the controllers, to read the engine and the informers.
    pub fn shared(&self) -> &ControllerContext {
        &self.shared
    }

    /// The webhooks of jobs.
    pub fn webhooks(&self) -> &JobWebhooks {
        &self.webhooks
    }
}
