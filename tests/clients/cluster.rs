//! [`Cluster`]: the cluster of one test.

use std::path::{Path, PathBuf};

use crate::lab_process::{RunningLab, WorkDir};

/// Nodes for the pods of the test cases.
const NODES: &str = "\
- name: node
  count: 2
  resources: {cpu: 16, memory: 64Gi, ephemeral-storage: 100Gi}
";

/// An embedded cluster, or the one of `KUEUE_LAB_TEST_KUBECONFIG`.
pub(crate) struct Cluster {
    kubeconfig: PathBuf,
    /// Ends with this value.
    _lab: Option<(RunningLab, WorkDir)>,
}

impl Cluster {
    /// Starts the embedded cluster.
    pub(crate) fn start() -> Self {
        if let Some(file) = std::env::var_os("KUEUE_LAB_TEST_KUBECONFIG") {
            return Self {
                kubeconfig: std::fs::canonicalize(file).unwrap(),
                _lab: None,
            };
        }
        let work_dir = WorkDir::new();
        work_dir.write("nodes.yaml", NODES);
        let args = [
            "up",
            "--headless",
            "--preset",
            "none",
            "--nodes",
            "nodes.yaml",
        ];
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let lab = runtime.block_on(work_dir.start(&args));
        Self {
            kubeconfig: lab.kubeconfig_path().into(),
            _lab: Some((lab, work_dir)),
        }
    }

    /// Its kubeconfig, for the environment variable `KUBECONFIG`.
    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }
}
