//! A controller instance: webhooks only as a follower, all controllers as the leader.

use crate::jobs::ancestor_job::AncestorFinder;
use crate::settings::ControllerConfig;
use crate::{
    ControllerContext, JobWebhooks, admission_checks, concurrent_admission, core, jobs, scheduler,
    tas,
};
use kueue_lab_api::config::Feature;
use kueue_lab_runtime::Context;

/// A controller that knows the cluster and answers webhooks, but decides and writes nothing: what an
/// instance is while another one leads.
pub struct WebhooksOnlyInstance {
    shared: ControllerContext,
    webhooks: JobWebhooks,
}

impl WebhooksOnlyInstance {
    /// Starts to watch and waits until it knows what is in the cluster.
    pub async fn start(ctx: &Context, config: ControllerConfig) -> Self {
        let shared = ControllerContext::new(ctx, config).await;
        shared.informers.wait_for_cache_sync().await;
        // Owners of jobs are asked for one by one until they are watched.
        let webhooks = JobWebhooks::new(&shared, &AncestorFinder::new(ctx.client.clone()));
        Self { shared, webhooks }
    }

    /// What the parts of the controller share.
    pub fn shared(&self) -> &ControllerContext {
        &self.shared
    }

    /// Defaulting and validation of jobs.
    pub fn webhooks(&self) -> &JobWebhooks {
        &self.webhooks
    }

    /// Begins to admit.
    pub fn become_leader(self) -> Controller {
        let shared = self.shared;
        core::start(&shared);
        if shared.settings.enabled(Feature::TopologyAwareScheduling) {
            tas::start(&shared);
        }
        admission_checks::start(&shared);
        concurrent_admission::start(&shared);
        let owners = jobs::start(&shared);
        scheduler::start(&shared);
        let webhooks = JobWebhooks::new(&shared, &owners);
        Controller { shared, webhooks }
    }
}

/// A running controller. Its tasks end with those of the [`Context`] it was started with.
#[derive(Clone)]
pub struct Controller {
    shared: ControllerContext,
    webhooks: JobWebhooks,
}

impl Controller {
    /// Starts the controller and waits until it knows what is in the cluster.
    pub async fn start(ctx: &Context, config: ControllerConfig) -> Self {
        WebhooksOnlyInstance::start(ctx, config)
            .await
            .become_leader()
    }

    /// What the parts of the controller share; for reading the engine and the informers.
    pub fn shared(&self) -> &ControllerContext {
        &self.shared
    }

    /// Defaulting and validation of jobs, to be plugged in where jobs come in.
    pub fn webhooks(&self) -> &JobWebhooks {
        &self.webhooks
    }
}
