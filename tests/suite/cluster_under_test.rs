//! [`ClusterUnderTest`]: a cluster, and the lab on it that test cases share.

use std::path::{Path, PathBuf};

use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio::sync::{OnceCell, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::external_cluster::{CONTEXT_NAME, ExternalCluster};
use crate::lab_process::{RunningLab, WorkDir};
use crate::objects::lab_labelled_objects;

/// The variable with the kubeconfig of a cluster to run against.
const KUBECONFIG_VARIABLE: &str = "KUEUE_LAB_TEST_KUBECONFIG";

/// Virtual nodes for all concurrent test cases.
const NODES: &str = "\
- name: suite
  count: 8
  resources: {cpu: 64, memory: 256Gi, nvidia.com/gpu: 8}
";

/// The preset of the shared lab; test cases create their own queues.
const PRESET: &str = "\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: suite}
spec:
  nodeLabels: {kueue-lab.dev/pool: suite}
";

/// A folder with the preset and nodes file of the suite's labs.
pub(crate) fn work_dir() -> WorkDir {
    let work_dir = WorkDir::new();
    work_dir.write("presets/suite/flavor.yaml", PRESET);
    work_dir.write("nodes.yaml", NODES);
    work_dir
}

/// The kind of cluster.
pub(crate) enum ClusterKind {
    /// The embedded cluster of `up`.
    Embedded,
    /// An API server with a control plane in this process.
    InProcess,
    /// An existing cluster, by its kubeconfig.
    Kubeconfig(PathBuf),
}

impl ClusterKind {
    /// The clusters to run against.
    pub(crate) fn from_env() -> Vec<Self> {
        match std::env::var_os(KUBECONFIG_VARIABLE).filter(|file| !file.is_empty()) {
            Some(file) => {
                let file = std::fs::canonicalize(&file);
                vec![Self::Kubeconfig(file.expect(KUBECONFIG_VARIABLE))]
            }
            None => vec![Self::Embedded, Self::InProcess],
        }
    }
}

/// A cluster and its shared lab.
pub(crate) struct ClusterUnderTest {
    kind: ClusterKind,
    work_dir: WorkDir,
    /// Started by the first test case that needs it.
    existing: OnceCell<ExistingCluster>,
    lab: RwLock<Option<Lab>>,
}

/// A cluster that exists before the lab.
pub(crate) struct ExistingCluster {
    /// The cluster, if it runs in this process.
    pub in_process: Option<ExternalCluster>,
    /// Its kubeconfig.
    pub kubeconfig: PathBuf,
    /// The context in it.
    pub context: String,
    /// A client of it.
    pub client: Client,
}

impl ExistingCluster {
    /// `--cluster` and `--kubeconfig` for it.
    pub(crate) fn cluster_args(&self) -> [String; 4] {
        [
            "--cluster".into(),
            format!("context:{}", self.context),
            "--kubeconfig".into(),
            self.kubeconfig.display().to_string(),
        ]
    }

    /// `--context` and `--kubeconfig` for it.
    pub(crate) fn context_args(&self) -> [String; 4] {
        let [_, _, flag, file] = self.cluster_args();
        ["--context".into(), self.context.clone(), flag, file]
    }
}

/// The running lab.
pub(crate) struct Lab {
    /// The process.
    pub running: RunningLab,
    /// A client of the cluster.
    pub client: Client,
}

impl ClusterUnderTest {
    /// A cluster that is not started yet.
    pub(crate) fn new(kind: ClusterKind) -> Self {
        Self {
            kind,
            work_dir: work_dir(),
            existing: OnceCell::new(),
            lab: RwLock::new(None),
        }
    }

    /// The prefix of the names of its test cases.
    pub(crate) fn name_prefix(&self) -> &'static str {
        match self.kind {
            ClusterKind::Embedded => "embedded",
            ClusterKind::InProcess => "in_process",
            ClusterKind::Kubeconfig(_) => "kubeconfig",
        }
    }

    /// The kind of cluster.
    pub(crate) fn kind(&self) -> &ClusterKind {
        &self.kind
    }

    /// Whether the cluster exists without the lab.
    pub(crate) fn is_existing(&self) -> bool {
        !matches!(self.kind, ClusterKind::Embedded)
    }

    /// The working directory of the lab.
    pub(crate) fn work_dir(&self) -> &WorkDir {
        &self.work_dir
    }

    /// The cluster that exists before the lab.
    pub(crate) async fn existing(&self) -> &ExistingCluster {
        let start = || async {
            match &self.kind {
                ClusterKind::Embedded => unreachable!("only for existing clusters"),
                ClusterKind::InProcess => {
                    let cluster = ExternalCluster::start().await;
                    ExistingCluster {
                        kubeconfig: cluster.kubeconfig(),
                        context: CONTEXT_NAME.into(),
                        client: client(&cluster.kubeconfig()).await,
                        in_process: Some(cluster),
                    }
                }
                ClusterKind::Kubeconfig(file) => {
                    let config = Kubeconfig::read_from(file).unwrap();
                    ExistingCluster {
                        kubeconfig: file.clone(),
                        context: config.current_context.expect("a current context"),
                        client: client(file).await,
                        in_process: None,
                    }
                }
            }
        };
        self.existing.get_or_init(start).await
    }

    /// The arguments of `up`.
    pub(crate) async fn up_args(&self) -> Vec<String> {
        let mut args: Vec<String> = [
            "up",
            "--headless",
            "--presets-dir",
            "presets",
            "--preset",
            "suite",
            "--nodes",
            "nodes.yaml",
        ]
        .map(str::to_owned)
        .into();
        if self.is_existing() {
            args.push("--yes".into());
            args.extend(self.existing().await.cluster_args());
        }
        args
    }

    /// Starts another lab; for exclusive test cases.
    pub(crate) async fn start(&self) -> Lab {
        let args = self.up_args().await;
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let running = self.work_dir.start(&args).await;
        let client = match self.is_existing() {
            true => self.existing().await.client.clone(),
            false => client(Path::new(running.kubeconfig_path())).await,
        };
        Lab { running, client }
    }

    /// The shared lab, started on first use. It is not stopped while the guard is held.
    pub(crate) async fn lab(&self) -> RwLockReadGuard<'_, Option<Lab>> {
        loop {
            let lab = self.lab.read().await;
            if lab.is_some() {
                return lab;
            }
            drop(lab);
            let mut lab = self.lab.write().await;
            if lab.is_none() {
                *lab = Some(self.start().await);
            }
        }
    }

    /// Stops the shared lab; no other test case runs while the guard is held.
    pub(crate) async fn without_lab(&self) -> RwLockWriteGuard<'_, Option<Lab>> {
        let mut lab = self.lab.write().await;
        if let Some(lab) = lab.take() {
            assert_eq!(lab.running.stop().await, Some(0));
        }
        lab
    }

    /// Removes the lab from the cluster and checks that nothing remains.
    pub(crate) async fn tear_down(&self) {
        drop(self.without_lab().await);
        let Some(foreign) = self.existing.get() else {
            return;
        };
        let down = ["down".to_owned(), "--yes".to_owned()];
        self.run(down.into_iter().chain(foreign.cluster_args()))
            .await;
        let uninstall = ["uninstall".to_owned(), "--yes".to_owned()];
        self.run(uninstall.into_iter().chain(foreign.context_args()))
            .await;
        let left = lab_labelled_objects(&foreign.client).await;
        assert!(left.is_empty(), "the lab left {left:?}");
    }

    /// Runs a command that must succeed; returns its output.
    pub(crate) async fn run(&self, args: impl IntoIterator<Item = String>) -> String {
        let args: Vec<String> = args.into_iter().collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let output = self.work_dir.run(&args).await;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let log = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?} printed {printed}{log}");
        printed
    }
}

/// A client of a kubeconfig's current context.
pub(crate) async fn client(kubeconfig: &Path) -> Client {
    let config = Kubeconfig::read_from(kubeconfig).unwrap();
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(config, &options).await;
    Client::try_from(config.unwrap()).unwrap()
}
