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
    /// Whether the state has all presets of the folder, and not only the active one.
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

    /// Publishes a state as it is.
    pub(super) fn set(&self, state: PresetsState) {
        self.state.send_replace(Arc::new(state));
    }

    /// Adds all presets of the folder to the state from now on. Only the active one is read before, since
    /// a lab is ready after its first preset, and there are many others.
    pub(super) fn list_from_now_on(&self) {
        self.lists_presets.store(true, Ordering::Relaxed);
    }

    /// Updates the state and the list of presets.
    pub(super) fn publish(&self, change: impl FnOnce(&mut PresetsState)) {
        let mut state = PresetsState::clone(&self.state.borrow());
        change(&mut state);
        let known = std::mem::take(&mut state.presets).into_iter();
        let known = known.map(|p| (p.name.clone(), p)).collect();
        let names = match self.lists_presets.load(Ordering::Relaxed) {
            true => folder::list(&self.folder).ok(),
            false => Some(state.active.iter().cloned().collect()),
        };
        state.presets = self.read_presets(names, known);
        self.state.send_if_modified(|old| {
            let different = **old != state;
            if different {
                *old = Arc::new(state);
            }
            different
        });
    }

    /// The presets with some names; all known ones without names. A preset that cannot be read keeps its
    /// previous entry.
    fn read_presets(
        &self,
        names: Option<Vec<String>>,
        mut known: BTreeMap<String, PresetInfo>,
    ) -> Vec<PresetInfo> {
        let Some(names) = names else {
            return known.into_values().collect();
        };
        let info = |name: String| match folder::read(&self.folder, &name) {
            Ok(source) => PresetInfo {
                folder: folder::preset_folder(&self.folder, &name)
                    .display()
                    .to_string(),
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
