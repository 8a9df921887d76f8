//! File notifications of the operating system, debounced.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use super::folder::preset_folder;

/// A burst of changes ends after this long without a change.
const DEBOUNCE: Duration = Duration::from_millis(20);
/// The maximum length of a burst before it is reported.
const MAX_DEBOUNCE: Duration = Duration::from_millis(100);
/// The polling interval where notifications are not available.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Reports changes in a set of folders.
pub struct FileWatcher {
    watcher: Option<RecommendedWatcher>,
    changed: mpsc::Receiver<()>,
    watched: BTreeSet<PathBuf>,
}

impl Default for FileWatcher {
    fn default() -> Self {
        Self::new()
    }
}

impl FileWatcher {
    /// A watcher without folders. Falls back to polling if notifications are not available.
    pub fn new() -> Self {
        let (sender, changed) = mpsc::channel(1);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if event.map_or(true, |e| changes_content(&e.kind)) {
                // A full channel already holds a notification.
                let _ = sender.try_send(());
            }
        });
        if let Err(error) = &watcher {
            tracing::warn!("polling for file changes: {error}");
        }
        Self {
            watcher: watcher.ok(),
            changed,
            watched: BTreeSet::new(),
        }
    }

    /// Watches exactly these folders; ignores those that do not exist.
    pub fn watch_folders(&mut self, folders: BTreeSet<PathBuf>) {
        let Some(watcher) = &mut self.watcher else {
            return;
        };
        for removed in self.watched.difference(&folders) {
            // Fails if the folder was deleted, which also ends its watch.
            let _ = watcher.unwatch(removed);
        }
        // A replaced folder keeps its path but loses its watch, so all watches are renewed.
        let mut failed = None;
        self.watched = folders
            .into_iter()
            .filter(|folder| {
                let _ = watcher.unwatch(folder);
                match watcher.watch(folder, RecursiveMode::NonRecursive) {
                    Ok(()) => true,
                    Err(error) if folder.exists() => {
                        failed = Some(error);
                        false
                    }
                    Err(_) => false,
                }
            })
            .collect();
        if let Some(error) = failed {
            tracing::warn!("polling for file changes: {error}");
            self.watcher = None;
        }
    }

    /// Waits for a change and for the end of its burst.
    pub async fn changed(&mut self) {
        if self.watcher.is_none() {
            tokio::time::sleep(POLL_INTERVAL).await;
            return;
        }
        if self.changed.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
        let started = Instant::now();
        while started.elapsed() < MAX_DEBOUNCE
            && timeout(DEBOUNCE, self.changed.recv()).await.is_ok()
        {}
    }
}

/// Whether an event can change the content of a file; reads are events too.
fn changes_content(kind: &EventKind) -> bool {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => true,
        EventKind::Access(_) => false,
        _ => true,
    }
}

/// The folders to watch: that of the active preset, the presets folder, that folder's parent, and
/// the targets of links.
pub(super) fn folders_of_preset(root: &Path, active: Option<&str>) -> BTreeSet<PathBuf> {
    let preset = active.map(|name| preset_folder(root, name));
    let mut folders = BTreeSet::new();
    let samples = preset.as_ref().map(|preset| preset.join("samples"));
    let paths = [root.to_owned()].into_iter();
    for path in paths.chain(preset.clone()).chain(samples) {
        folders.insert(path.clone());
        add_resolved_path(&mut folders, &path);
    }
    let entries = preset.and_then(|preset| preset.read_dir().ok());
    let files = entries.into_iter().flatten().flatten();
    for file in files.filter(|f| f.file_type().is_ok_and(|t| t.is_symlink())) {
        add_resolved_path(&mut folders, &file.path());
    }
    let absolute = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
    if let Some(parent) = absolute.parent() {
        folders.insert(parent.to_owned());
    }
    folders
}

/// The folders to watch for a file: its own and those of link targets.
pub fn folders_of_file(file: &Path) -> BTreeSet<PathBuf> {
    let mut folders = BTreeSet::new();
    let absolute = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    folders.extend(absolute.parent().map(Path::to_owned));
    add_resolved_path(&mut folders, file);
    folders
}

/// Adds the resolved folder of a path, and the folders of the links on the way.
fn add_resolved_path(folders: &mut BTreeSet<PathBuf>, path: &Path) {
    let mut next = path.to_owned();
    // A longer chain of links is taken for a loop.
    for _ in 0..8 {
        let Ok(target) = std::fs::read_link(&next) else {
            break;
        };
        let parent = next.parent().map(Path::to_owned).unwrap_or_default();
        next = parent.join(target);
        if let Some(parent_folder) = next.parent() {
            folders.insert(parent_folder.to_owned());
        }
    }
    if let Ok(real) = path.canonicalize() {
        let parent_folder = if real.is_dir() {
            Some(real.as_path())
        } else {
            real.parent()
        };
        folders.extend(parent_folder.map(Path::to_owned));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_targets_are_watched() {
        let root = tempfile::tempdir().unwrap();
        let at = |p: &str| root.path().join(p);
        for folder in ["presets/a", "elsewhere", "data"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        std::fs::write(at("data/q.yaml"), "").unwrap();
        std::os::unix::fs::symlink(at("data/q.yaml"), at("presets/a/q.yaml")).unwrap();
        std::os::unix::fs::symlink(at("elsewhere"), at("presets/b")).unwrap();
        let watched = folders_of_preset(&at("presets"), Some("a"));
        let real = |p: &str| at(p).canonicalize().unwrap();
        assert!(watched.contains(&at("presets")) && watched.contains(root.path()));
        assert!(watched.contains(&real("data")), "{watched:?}");
        assert!(folders_of_preset(&at("presets"), Some("b")).contains(&real("elsewhere")));
    }

    #[test]
    fn reads_are_not_changes() {
        assert!(!changes_content(&EventKind::Access(AccessKind::Open(
            AccessMode::Read
        ))));
        assert!(changes_content(&EventKind::Access(AccessKind::Close(
            AccessMode::Write
        ))));
        assert!(changes_content(&EventKind::Any));
    }
}
