//! Following the file of the node pools: a save changes the nodes, a broken file changes nothing.

use std::path::PathBuf;
use std::sync::Arc;

use kueue_lab_machines::Machines;
use kueue_lab_machines::nodes::NodePools;
use kueue_lab_presets::{FileWatcher, folders_of_file};
use kueue_lab_runtime::Context;

/// Follows the file in the tasks of `context`.
pub(super) fn watch_file(context: &Context, machines: &Arc<Machines>, file: PathBuf) {
    let machines = machines.clone();
    context.tasks.spawn("node pools", async move {
        let mut watch = FileWatcher::new();
        watch.watch_folders(folders_of_file(&file));
        let mut told = None;
        // What was saved between reading the file and watching it counts as well.
        loop {
            reload(&machines, &file, &mut told).await;
            watch.changed().await;
            watch.watch_folders(folders_of_file(&file));
        }
    });
}

/// Reads the file and wants its pools, if they are others. A complaint is made once.
async fn reload(machines: &Machines, file: &std::path::Path, told: &mut Option<String>) {
    match NodePools::load(file) {
        Ok(pools) if pools == *machines.pools() => *told = None,
        Ok(pools) => {
            *told = None;
            let count: u32 = pools.pools.iter().map(|p| p.count).sum();
            machines.apply_pools(pools).await;
            tracing::info!("{}: {count} nodes in force", file.display());
        }
        Err(error) => {
            let complaint = error.to_string();
            if told.as_ref() != Some(&complaint) {
                tracing::error!("{complaint}; the nodes stay as they are");
            }
            *told = Some(complaint);
        }
    }
}
