//! `--nodes`: the pools of virtual nodes.

use std::path::{Path, PathBuf};

use super::CommandError;
use kueue_lab_lab::{FileSource, LabPaths, NodePools};

/// The node pools and their file, if any: the file of `--nodes`, or `lab/nodes.yaml` of the checkout.
pub(super) fn node_pools(
    flag: Option<&Path>,
    paths: &LabPaths,
) -> Result<(NodePools, Option<PathBuf>), CommandError> {
    let checkout_file = match &paths.lab {
        FileSource::Folder(folder) => Some(folder.join("nodes.yaml")).filter(|f| f.is_file()),
        FileSource::Shipped(_) => None,
    };
    match flag.map(Path::to_owned).or(checkout_file) {
        Some(file) => {
            let pools = NodePools::load(&file).map_err(CommandError::usage)?;
            Ok((pools, Some(file)))
        }
        None => Ok((NodePools::built_in(), None)),
    }
}
