//! Reloads the node pools when their file changes; an invalid file changes nothing.

use std::path::PathBuf;
use std::sync::Arc;

use kueue_lab_machines::Machines;
use kueue_lab_machines::nodes::NodePools;
use kueue_lab_presets::{FileWatcher, folders_of_file};
use kueue_lab_runtime::Context;

/// Watches the file in the tasks of `context`.
pub(super) fn watch_file(context: &Context, machines: &Arc<Machines>, file: PathBuf) {
    let machines = machines.clone();
    context.tasks.spawn("node pools", async move {
        let mut watch = FileWatcher::new();
        watch.watch_folders(folders_of_file(&file));
        let mut last_error = None;
        // Also covers a save between the first read and the watch.
        loop {
            reload(&machines, &file, &mut last_error).await;
            watch.changed().await;
            watch.watch_folders(folders_of_file(&file));
        }
    });
}

/// Reads the file and applies its pools if they changed. An error is logged once.
async fn reload(machines: &Machines, file: &std::path::Path, last_error: &mut Option<String>) {
    match NodePools::load(file) {
        Ok(pools) if pools == *machines.pools() => *last_error = None,
        Ok(pools) => {
            *last_error = None;
            let count: u32 = pools.pools.iter().map(|p| p.count).sum();
            machines.apply_pools(pools).await;
            tracing::info!("{}: {count} nodes applied", file.display());
        }
        Err(error) => {
            let message = error.to_string();
            if last_error.as_ref() != Some(&message) {
                tracing::error!("{message}; the nodes are unchanged");
            }
            *last_error = Some(message);
        }
    }
}
