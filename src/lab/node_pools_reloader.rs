//! Reloads the node pools when their file changes; an invalid file changes nothing.

use std::path::{Path, PathBuf};

use crate::node_pool_sources::NodePoolSources;
use kueue_lab_machines::nodes::NodePools;
use kueue_lab_presets::{FileWatcher, folders_of_file};
use kueue_lab_runtime::Context;

/// Watches the file in the tasks of `context`.
pub(super) fn watch_file(context: &Context, sources: &NodePoolSources, file: PathBuf) {
    let sources = sources.clone();
    context.tasks.spawn("node pools", async move {
        let mut watch = FileWatcher::new();
        watch.watch_folders(folders_of_file(&file));
        let mut last_error = None;
        // Also covers a save between the first read and the watch.
        loop {
            reload(&sources, &file, &mut last_error).await;
            watch.changed().await;
            watch.watch_folders(folders_of_file(&file));
        }
    });
}

/// Reads the file and applies its pools if they changed. An error is logged once.
async fn reload(sources: &NodePoolSources, file: &Path, last_error: &mut Option<String>) {
    match NodePools::load(file) {
        Ok(pools) => {
            *last_error = None;
            if let Some(count) = sources.set_own(pools).await {
                tracing::info!("{}: {count} nodes applied", file.display());
            }
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
