//! The record of a cluster that the lab created, so that `down` deletes that one and no other.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{ClusterTool, LocalClusterError};

/// A cluster that the lab created or is creating.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ClusterRecord {
    /// The ids of its node containers, sorted; empty while it is being created.
    pub(super) containers: Vec<String>,
}

impl ClusterRecord {
    /// The record of a cluster that is being created.
    pub(super) fn creating() -> Self {
        Self {
            containers: Vec::new(),
        }
    }

    /// Whether creation was started and not finished.
    pub(super) fn is_incomplete(&self) -> bool {
        self.containers.is_empty()
    }

    /// Whether these are the recorded containers. The cluster may have been deleted and recreated
    /// under the same name.
    pub(super) fn matches(&self, containers: &[(String, bool)]) -> bool {
        let mut ids: Vec<&String> = containers.iter().map(|(id, _)| id).collect();
        ids.sort();
        !self.is_incomplete() && ids.iter().copied().eq(&self.containers)
    }

    /// Reads the record, if there is one.
    pub(super) fn read(state: &Path, tool: ClusterTool) -> Option<Self> {
        let text =
            kueue_lab_host::read_to_string(path(state, tool), kueue_lab_host::FILE_LIMIT).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Writes the record.
    pub(super) fn write(&self, state: &Path, tool: ClusterTool) -> Result<(), LocalClusterError> {
        let path = path(state, tool);
        let failed = |e: std::io::Error| LocalClusterError::State {
            path: path.display().to_string(),
            reason: e.to_string(),
        };
        let folder = path.parent().unwrap_or(state);
        std::fs::create_dir_all(folder).map_err(failed)?;
        let text = serde_json::to_string(self).unwrap_or_default();
        kueue_lab_host::write(&path, text).map_err(failed)
    }

    /// Removes the record.
    pub(super) fn remove(state: &Path, tool: ClusterTool) {
        // A missing file is fine.
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
    fn a_recreated_cluster_does_not_match() {
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
