//! [`StatePublisher`]: the state of the presets, for the UI and other readers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;

use super::folder;
use super::{PresetInfo, PresetsState};

/// Publishes the state of the presets with the presets of the folder. Clones publish the same state.
#[derive(Clone)]
pub(super) struct StatePublisher {
    folder: PathBuf,
    state: watch::Sender<Arc<PresetsState>>,
    /// Whether the state has the list of presets.
    lists_presets: Arc<AtomicBool>,
}

impl StatePublisher {
    /// The publisher of a presets folder, and a receiver of the state.
    pub(super) fn new(folder: &Path) -> (Self, watch::Receiver<Arc<PresetsState>>) {
        let initial = PresetsState {
            origin: folder.display().to_string(),
            ..PresetsState::default()
        };
        let (state, received) = watch::channel(Arc::new(initial));
        let folder = folder.to_owned();
        let lists_presets = Arc::default();
        let publisher = Self {
            folder,
            state,
            lists_presets,
        };
        (publisher, received)
    }

    /// The state published last.
    pub(super) fn current(&self) -> Arc<PresetsState> {
        self.state.borrow().clone()
    }

    /// Adds the list of presets to the state from now on. It is not read before, since a lab is ready
    /// only after its first preset, and there are many others.
    pub(super) fn list_from_now_on(&self) {
        self.lists_presets.store(true, Ordering::Relaxed);
    }

    /// Updates the state and the list of presets.
    pub(super) fn publish(&self, change: impl FnOnce(&mut PresetsState)) {
        let mut state = PresetsState::clone(&self.state.borrow());
        if self.lists_presets.load(Ordering::Relaxed) {
            let known = std::mem::take(&mut state.presets).into_iter();
            state.presets = self.list_presets(known.map(|p| (p.name.clone(), p)).collect());
        }
        change(&mut state);
        self.state.send_if_modified(|old| {
            let different = **old != state;
            if different {
                *old = Arc::new(state);
            }
            different
        });
    }

    /// All presets of the folder. A preset that cannot be read keeps its previous entry.
    fn list_presets(&self, mut known: BTreeMap<String, PresetInfo>) -> Vec<PresetInfo> {
        let Ok(names) = folder::list(&self.folder) else {
            return known.into_values().collect();
        };
        let info = |name: String| match folder::read(&self.folder, &name) {
            Ok(source) => PresetInfo {
                name,
                files: source.file_names(),
                description: source.description,
                samples: source.samples,
            },
            Err(_) => known.remove(&name).unwrap_or(PresetInfo {
                name,
                ..PresetInfo::default()
            }),
        };
        names.into_iter().map(info).collect()
    }
}
