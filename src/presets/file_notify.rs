//! Noticing that files changed: the operating system's notifications, brought down to "look again".

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

/// A burst of changes is over when nothing happened for this long.
const DEBOUNCE: Duration = Duration::from_millis(20);
/// A burst is looked at after this long even when it goes on.
const MAX_DEBOUNCE: Duration = Duration::from_millis(100);
/// Between two looks where the system does not notify.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Tells when something in a set of folders changed.
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
    /// A watch on nothing yet. Where the system cannot notify, the folders are looked at twice a
    /// second instead.
    pub fn new() -> Self {
        let (tell, changed) = mpsc::channel(1);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if event.map_or(true, |e| changes_content(&e.kind)) {
                // A full channel says the same already.
                let _ = tell.try_send(());
            }
        });
        if let Err(error) = &watcher {
            tracing::warn!("file changes are polled for: {error}");
        }
        Self {
            watcher: watcher.ok(),
            changed,
            watched: BTreeSet::new(),
        }
    }

    /// Watches exactly these folders; those that are not there are passed over.
    pub fn watch_folders(&mut self, folders: BTreeSet<PathBuf>) {
        let Some(watcher) = &mut self.watcher else {
            return;
        };
        for gone in self.watched.difference(&folders) {
            // Fails when the folder is gone, and with it the watch.
            let _ = watcher.unwatch(gone);
        }
        // A folder that was replaced keeps its path but not its watch, so all are set anew.
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
            tracing::warn!("file changes are polled for: {error}");
            self.watcher = None;
        }
    }

    /// Waits for a change, and then until the burst it belongs to is over.
    pub async fn changed(&mut self) {
        if self.watcher.is_none() {
            tokio::time::sleep(POLL_INTERVAL).await;
            return;
        }
        if self.changed.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
        let begun = Instant::now();
        while begun.elapsed() < MAX_DEBOUNCE && timeout(DEBOUNCE, self.changed.recv()).await.is_ok()
        {
        }
    }
}

/// Whether an event can mean another content; reading a file is an event, too.
fn changes_content(kind: &EventKind) -> bool {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => true,
        EventKind::Access(_) => false,
        _ => true,
    }
}

/// The folders that decide what a preset says: its own, the one it stands in, that one's, and
/// wherever links lead.
pub(super) fn folders_of_preset(root: &Path, active: &str) -> BTreeSet<PathBuf> {
    let preset = root.join(active);
    let mut folders = BTreeSet::new();
    for path in [root.to_owned(), preset.clone(), preset.join("samples")] {
        folders.insert(path.clone());
        add_resolved_path(&mut folders, &path);
    }
    let files = preset.read_dir().into_iter().flatten().flatten();
    for file in files.filter(|f| f.file_type().is_ok_and(|t| t.is_symlink())) {
        add_resolved_path(&mut folders, &file.path());
    }
    let absolute = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
    if let Some(parent) = absolute.parent() {
        folders.insert(parent.to_owned());
    }
    folders
}

/// The folders that decide what a file says: the one it stands in, and wherever links lead.
pub fn folders_of_file(file: &Path) -> BTreeSet<PathBuf> {
    let mut folders = BTreeSet::new();
    let absolute = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    folders.extend(absolute.parent().map(Path::to_owned));
    add_resolved_path(&mut folders, file);
    folders
}

/// Adds where a path really is: the folder itself, or the folder of a file, and of links on the way.
fn add_resolved_path(folders: &mut BTreeSet<PathBuf>, path: &Path) {
    let mut next = path.to_owned();
    // A chain of links that long is a loop.
    for _ in 0..8 {
        let Ok(target) = std::fs::read_link(&next) else {
            break;
        };
        let parent = next.parent().map(Path::to_owned).unwrap_or_default();
        next = parent.join(target);
        if let Some(holder) = next.parent() {
            folders.insert(holder.to_owned());
        }
    }
    if let Ok(real) = path.canonicalize() {
        let holder = if real.is_dir() {
            Some(real.as_path())
        } else {
            real.parent()
        };
        folders.extend(holder.map(Path::to_owned));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_followed_to_where_the_files_are() {
        let root = tempfile::tempdir().unwrap();
        let at = |p: &str| root.path().join(p);
        for folder in ["presets/a", "elsewhere", "data"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        std::fs::write(at("data/q.yaml"), "").unwrap();
        std::os::unix::fs::symlink(at("data/q.yaml"), at("presets/a/q.yaml")).unwrap();
        std::os::unix::fs::symlink(at("elsewhere"), at("presets/b")).unwrap();
        let watched = folders_of_preset(&at("presets"), "a");
        let real = |p: &str| at(p).canonicalize().unwrap();
        assert!(watched.contains(&at("presets")) && watched.contains(root.path()));
        assert!(watched.contains(&real("data")), "{watched:?}");
        assert!(folders_of_preset(&at("presets"), "b").contains(&real("elsewhere")));
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
