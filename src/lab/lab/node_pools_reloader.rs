//! Reloads the node pools when their file changes; an invalid file changes nothing.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::node_pool_sources::NodePoolSources;
use kueue_lab_controller_runtime::Context;
use kueue_lab_nodes::NodePools;
use kueue_lab_presets::{FileWatcher, folders_of_file};

/// Watches the file in the tasks of `context`.
pub(super) fn watch_file(context: &Context, sources: &NodePoolSources, file: PathBuf) {
    let sources = sources.clone();
    context.tasks.spawn("node pools", async move {
        let mut watch = FileWatcher::new();
        watch.watch_folders(folders_of_file(&file));
        let mut last_error = None;
        let mut last_saved = modified(&file);
        // Also covers a save between the first read and the watch.
        loop {
            // Another file of the folder can have changed.
            let saved = modified(&file);
            let is_saved = std::mem::replace(&mut last_saved, saved) != saved;
            reload(&sources, &file, is_saved, &mut last_error).await;
            watch.changed().await;
            watch.watch_folders(folders_of_file(&file));
        }
    });
}

/// The time of the last save.
fn modified(file: &Path) -> Option<SystemTime> {
    std::fs::metadata(file).ok()?.modified().ok()
}

/// Reads the file and applies its pools if they changed, or if it was saved and nodes of the pools are deleted. An
/// error is logged once.
async fn reload(
    sources: &NodePoolSources,
    file: &Path,
    is_saved: bool,
    last_error: &mut Option<String>,
) {
    match NodePools::load(file) {
        Ok(pools) => {
            *last_error = None;
            if let Some(count) = sources.set_own(pools, is_saved).await {
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
