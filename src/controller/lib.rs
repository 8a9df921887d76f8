//! The admission controller around the engine: watches the cluster through a `kube::Client`, feeds
//! [`kueue_lab_admission`], writes its decisions back. Knows `admission`, `api` and `runtime`; must not
//! know which kind of cluster it runs on.
//!
//! All parts share one [`ControllerContext`]: what the cluster looks like ([`Informers`]), the engine, the
//! settings and the recorder of Events. `core` keeps the objects of Kueue itself in order,
//! `scheduler` runs the engine's cycles and writes what they decide, `jobs` turns jobs into
//! Workloads and starts and stops them, `admission_checks` judges admission checks, `webhook` defaults and
//! validates what comes in.

pub mod admission_checks;
mod concurrent_admission;
mod controller_context;
pub mod core;
mod event_handlers;
pub mod event_recorder;
pub mod informers;
pub mod job_webhooks;
pub mod jobs;
pub mod scheduler;
pub mod settings;
mod tas;
pub mod workload_patching;

pub use controller_context::{AdmissionAttempt, ControllerContext};
pub use informers::Informers;
pub use job_webhooks::JobWebhooks;
pub use settings::{ControllerConfig, Settings};

use self::jobs::ancestor_job::AncestorFinder;
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
