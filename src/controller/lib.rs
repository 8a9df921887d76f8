//! The admission controller around the engine: watches the cluster through a `kube::Client`, feeds
//! [`kueue_lab_admission`], writes its decisions back. Knows `admission`, `api` and `runtime`; must not
//! know which kind of cluster it runs on.
//!
//! All parts share one [`Shared`]: what the cluster looks like ([`Informers`]), the engine, the
//! settings and the recorder of Events. `core` keeps the objects of Kueue itself in order,
//! `scheduler` runs the engine's cycles and writes what they decide, `jobs` turns jobs into
//! Workloads and starts and stops them, `checks` judges admission checks, `webhook` defaults and
//! validates what comes in.

pub mod checks;
mod concurrent;
pub mod core;
pub mod events;
mod feed;
pub mod informers;
pub mod jobs;
pub mod patch;
pub mod scheduler;
pub mod settings;
mod shared;
pub mod webhook;

pub use informers::Informers;
pub use settings::{ControllerConfig, Settings};
pub use shared::{Attempt, Shared};
pub use webhook::Webhooks;

use self::jobs::ancestors::Owners;
use kueue_lab_runtime::Context;

/// A controller that knows the cluster and answers webhooks, but decides and writes nothing: what an
/// instance is while another one leads.
pub struct Standby {
    shared: Shared,
    webhooks: Webhooks,
}

impl Standby {
    /// Starts to watch and waits until it knows what is in the cluster.
    pub async fn start(ctx: &Context, config: ControllerConfig) -> Self {
        let shared = Shared::new(ctx, config).await;
        shared.informers.synced().await;
        // Owners of jobs are asked for one by one until they are watched.
        let webhooks = Webhooks::new(&shared, &Owners::new(ctx.client.clone()));
        Self { shared, webhooks }
    }

    /// What the parts of the controller share.
    pub fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Defaulting and validation of jobs.
    pub fn webhooks(&self) -> &Webhooks {
        &self.webhooks
    }

    /// Begins to admit.
    pub fn lead(self) -> Controller {
        let shared = self.shared;
        core::start(&shared);
        checks::start(&shared);
        concurrent::start(&shared);
        let owners = jobs::start(&shared);
        scheduler::start(&shared);
        let webhooks = Webhooks::new(&shared, &owners);
        Controller { shared, webhooks }
    }
}

/// A running controller. Its tasks end with those of the [`Context`] it was started with.
#[derive(Clone)]
pub struct Controller {
    shared: Shared,
    webhooks: Webhooks,
}

impl Controller {
    /// Starts the controller and waits until it knows what is in the cluster.
    pub async fn start(ctx: &Context, config: ControllerConfig) -> Self {
        Standby::start(ctx, config).await.lead()
    }

    /// What the parts of the controller share; for reading the engine and the informers.
    pub fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Defaulting and validation of jobs, to be plugged in where jobs come in.
    pub fn webhooks(&self) -> &Webhooks {
        &self.webhooks
    }
}
