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
mod elastic;
mod ensure;
pub mod env;
pub mod error;
pub mod frameworks;
mod infos;
pub mod job;
pub mod job_set;
mod losses;
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
pub mod stateful_set;
mod write;

use std::sync::atomic::{AtomicBool, Ordering};

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::core::PartialObjectMeta;
use kube::runtime::watcher;

use self::ancestors::Owners;
use self::batch_job::BatchJob;
use self::env::Env;
use self::frameworks::Frameworks;
use self::job::JobKind;
use self::job_set::{JobSet, JobSets};
use super::Shared;
use kueue_lab_api::config::Feature;
use kueue_lab_runtime::{Change, Informer};

pub use self::write::difference;

/// Starts the job controllers that the configuration asks for. Gives what finds the owners of
/// objects, for the webhooks.
pub fn start(shared: &Shared) -> Owners {
    let frameworks = Frameworks::new(&shared.settings.configuration);
    let ctx = &shared.ctx;
    let jobs = Informer::builder(Api::<Job>::all(ctx.client.clone()))
        .index(run::BY_OWNER, run::owner_uids::<Job>)
        .start(ctx);
    let mut owners = Owners::new(ctx.client.clone()).with(BatchJob::GVK, single::lookup(&jobs));
    let sets = frameworks
        .is_enabled(stateful_set::FRAMEWORK)
        .then(|| Informer::builder(Api::<StatefulSet>::all(ctx.client.clone())).start(ctx));
    if let Some(sets) = &sets {
        owners = owners.with(stateful_set::GVK, single::lookup(sets));
    }
    if frameworks.is_enabled(BatchJob::FRAMEWORK) {
        run::start::<BatchJob>(&Env::new(shared, &owners, BatchJob::FRAMEWORK), &jobs);
    }
    if frameworks.is_enabled("pod") {
        pods::start(&Env::new(shared, &owners, "pod"));
    }
    if shared
        .settings
        .enabled(Feature::ElasticJobsViaWorkloadSlices)
    {
        elastic::start(&Env::new(shared, &owners, "elastic-job"));
    }
    if let Some(sets) = &sets {
        stateful_set::start(&Env::new(shared, &owners, stateful_set::FRAMEWORK), sets);
    }
    if frameworks.is_enabled(JobSets::FRAMEWORK) {
        when_defined(shared, "jobsets.jobset.x-k8s.io", {
            let (shared, owners) = (shared.clone(), owners.clone());
            move || {
                let sets = Informer::builder(Api::<JobSet>::all(shared.ctx.client.clone()))
                    .index(run::BY_OWNER, run::owner_uids::<JobSet>)
                    .start(&shared.ctx);
                run::start::<JobSets>(&Env::new(&shared, &owners, JobSets::FRAMEWORK), &sets);
            }
        });
    }
    owners
}

/// Starts something when a custom kind is defined.
fn when_defined(shared: &Shared, name: &str, start: impl Fn() + Send + Sync + 'static) {
    // Its metadata tells enough; whole definitions are big.
    let api: Api<PartialObjectMeta<CustomResourceDefinition>> = Api::all(shared.ctx.client.clone());
    let only = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let definitions = Informer::builder(api).config(only).start(&shared.ctx);
    let started = AtomicBool::new(false);
    definitions.subscribe(move |change| {
        if !matches!(change, Change::Deleted(_)) && !started.swap(true, Ordering::Relaxed) {
            start();
        }
    });
}
