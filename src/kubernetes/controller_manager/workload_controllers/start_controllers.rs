//! Starts the workload controllers.

use super::SharedInformers;
use super::{apps, cronjob, job, ttl_after_finished};
use kueue_lab_controller_runtime::Context;

/// Starts the controllers, in the tasks of `context`.
pub(crate) fn start(context: &Context, shared: &SharedInformers) {
    job::start(context, shared);
    ttl_after_finished::start(context, shared);
    cronjob::start(context, shared);
    apps::replicaset::start(context, shared);
    apps::deployment::start(context, shared);
    apps::statefulset::start(context, shared);
    apps::daemonset::start(context, shared);
}
