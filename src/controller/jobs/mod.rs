//! Jobs of every kind: turns them into Workloads, starts them when admitted and stops them when
//! evicted.
//!
//! The reconciler (`reconcile`, `ensure`) knows jobs only as [`job::GenericJob`]. A kind whose jobs
//! are one object each implements [`job::JobKind`] in one file, from which [`single::Single`] makes
//! such a job; pods and their groups implement it themselves.
//!
//! Must not know how Workloads are admitted.

pub mod ancestors;
pub mod batch_job;
mod compose;
mod ensure;
pub mod env;
pub mod error;
pub mod frameworks;
mod infos;
pub mod job;
pub mod marks;
pub mod names;
pub mod pod_set_info;
pub mod pod_sets;
mod pods;
mod pods_ready;
mod priority;
mod reconcile;
pub mod role_hash;
mod run;
pub mod single;
mod slices;
mod write;

use k8s_openapi::api::batch::v1::Job;
use kube::Api;

use self::ancestors::Owners;
use self::batch_job::BatchJob;
use self::env::Env;
use self::frameworks::Frameworks;
use self::job::JobKind;
use super::Shared;
use crate::runtime::Informer;

pub use self::write::difference;

/// Starts the job controllers that the configuration asks for. Gives what finds the owners of
/// objects, for the webhooks.
pub fn start(shared: &Shared) -> Owners {
    let frameworks = Frameworks::new(&shared.settings.configuration);
    let ctx = &shared.ctx;
    let jobs = Informer::builder(Api::<Job>::all(ctx.client.clone()))
        .index(run::BY_OWNER, run::owner_uids::<Job>)
        .start(ctx);
    let owners = Owners::new(ctx.client.clone()).with(BatchJob::GVK, single::lookup(&jobs));
    if frameworks.is_enabled(BatchJob::FRAMEWORK) {
        run::start::<BatchJob>(&Env::new(shared, &owners, BatchJob::FRAMEWORK), &jobs);
    }
    if frameworks.is_enabled("pod") {
        pods::start(&Env::new(shared, &owners, "pod"));
    }
    owners
}
