//! What is remembered of a cluster the lab made, so that it takes down that one and no other.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{ClusterTool, LocalClusterError};

/// A cluster the lab made or was making.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ClusterRecord {
    /// The containers of its nodes, sorted; none while it is being made.
    pub(super) containers: Vec<String>,
}

impl ClusterRecord {
    /// That a cluster is being made.
    pub(super) fn creating() -> Self {
        Self {
            containers: Vec::new(),
        }
    }

    /// Whether making it was begun and never ended.
    pub(super) fn is_incomplete(&self) -> bool {
        self.containers.is_empty()
    }

    /// Whether these are the containers that were made. Somebody may have taken the cluster down and
    /// made another of the same name.
    pub(super) fn matches(&self, containers: &[(String, bool)]) -> bool {
        let mut ids: Vec<&String> = containers.iter().map(|(id, _)| id).collect();
        ids.sort();
        !self.is_incomplete() && ids.iter().copied().eq(&self.containers)
    }

    /// What is remembered, if anything.
    pub(super) fn read(state: &Path, tool: ClusterTool) -> Option<Self> {
        let text = std::fs::read_to_string(path(state, tool)).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Remembers.
    pub(super) fn write(&self, state: &Path, tool: ClusterTool) -> Result<(), LocalClusterError> {
        let path = path(state, tool);
        let failed = |e: std::io::Error| LocalClusterError::State {
            path: path.display().to_string(),
            reason: e.to_string(),
        };
        let folder = path.parent().unwrap_or(state);
        std::fs::create_dir_all(folder).map_err(failed)?;
        let text = serde_json::to_string(self).unwrap_or_default();
        std::fs::write(&path, text).map_err(failed)
    }

    /// Forgets.
    pub(super) fn remove(state: &Path, tool: ClusterTool) {
        // Gone already is fine.
        let _ = std::fs::remove_file(path(state, tool));
    }
}

fn path(state: &Path, tool: ClusterTool) -> PathBuf {
    let file = format!("{}.json", tool.context());
    state.join("clusters").join(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_of_the_same_name_is_another() {
        let marker = ClusterRecord {
            containers: vec!["a".into(), "b".into()],
        };
        let now = |ids: &[&str]| {
            ids.iter()
                .map(|i| (i.to_string(), true))
                .collect::<Vec<_>>()
        };
        assert!(marker.matches(&now(&["b", "a"])));
        assert!(!marker.matches(&now(&["a", "c"])));
        assert!(!ClusterRecord::creating().matches(&[]));
    }
}
