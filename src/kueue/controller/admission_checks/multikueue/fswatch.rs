//! Watches kubeconfig files: a changed file enqueues its cluster.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::context::MultiKueueContext;
use super::kubeconfig_path::permitted_file;
use kueue_lab_api::v1beta2::LocationType;
use kueue_lab_controller_runtime::ObjectKey;

/// The interval of checks.
const INTERVAL: Duration = Duration::from_secs(1);

/// Time and size of a file; None if it cannot be read.
type FileVersion = Option<(SystemTime, u64)>;

/// Starts the watch. Without clusters of this type it reads no files.
pub(super) fn start(mk: &MultiKueueContext) {
    let watched = mk.clone();
    mk.shared.ctx.tasks.spawn("multikueue-fswatch", async move {
        let mut seen: BTreeMap<ObjectKey, (PathBuf, FileVersion)> = BTreeMap::new();
        let changes = cluster_changes(&watched);
        loop {
            let files = kubeconfig_files(&watched);
            for (cluster, file) in &files {
                let current = (file.clone(), version(file));
                let before = seen.insert(cluster.clone(), current.clone());
                if before.is_some_and(|before| before.0 == *file && before.1 != current.1) {
                    watched.cluster_events.add(cluster.clone());
                }
            }
            seen.retain(|cluster, _| files.contains_key(cluster));
            match files.is_empty() {
                true => changes.notified().await,
                false => watched.shared.ctx.clock.sleep(INTERVAL).await,
            }
        }
    });
}

fn cluster_changes(mk: &MultiKueueContext) -> std::sync::Arc<tokio::sync::Notify> {
    let changes = std::sync::Arc::new(tokio::sync::Notify::new());
    let notify = changes.clone();
    mk.clusters.add_event_handler(move |_| notify.notify_one());
    changes
}

fn kubeconfig_files(mk: &MultiKueueContext) -> BTreeMap<ObjectKey, PathBuf> {
    let clusters = mk.clusters.list().into_iter();
    let files = clusters.filter_map(|cluster| {
        let config = cluster.spec.cluster_source.kube_config.as_ref()?;
        if config.location_type() != LocationType::Path {
            return None;
        }
        let file = permitted_file(&mk.shared.settings, &config.location).ok()?;
        Some((ObjectKey::of(cluster.as_ref()), file))
    });
    files.collect()
}

fn version(file: &Path) -> FileVersion {
    let metadata = std::fs::metadata(file).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}
