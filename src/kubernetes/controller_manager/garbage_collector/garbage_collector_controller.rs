//! Starts the garbage collector: its workers and its monitors.

use std::sync::Arc;

use parking_lot::Mutex;

use super::GarbageCollector;
use crate::discovery::DiscoveredKinds;
use kueue_lab_controller_runtime::{Context, WorkQueue};

const WORKERS: usize = 10;

/// Starts the collector in the tasks of `context`.
pub(crate) fn start(context: &Context, kinds: &DiscoveredKinds) {
    let collector = Arc::new(GarbageCollector {
        context: context.clone(),
        kinds: kinds.clone(),
        graph: Mutex::default(),
        absent_owner_cache: Mutex::default(),
        queue: WorkQueue::new(context),
    });
    let worker = collector.clone();
    collector
        .queue
        .run(context, "garbage-collector", WORKERS, move |uid| {
            let worker = worker.clone();
            async move { worker.process_item(&uid).await }
        });
    context
        .tasks
        .spawn("garbage-collector", collector.sync_monitors());
}
