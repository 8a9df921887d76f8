//! Where the stories play: a cluster, and a lab on it that the stories share.

use std::path::{Path, PathBuf};

use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio::sync::{OnceCell, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::external_cluster::{CONTEXT_NAME, ExternalCluster};
use crate::lab_process::{RunningLab, WorkDir};
use crate::objects::lab_labelled_objects;

/// The variable that names the kubeconfig of a cluster to run against.
const KUBECONFIG_VARIABLE: &str = "KUEUE_LAB_TEST_KUBECONFIG";

/// Virtual nodes for all stories at once.
const NODES: &str = "\
- name: suite
  count: 8
  resources: {cpu: 64, memory: 256Gi, nvidia.com/gpu: 8}
";

/// What the shared lab starts with; stories make queues of their own.
const PRESET: &str = "\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: suite}
spec:
  nodeLabels: {kueue-lab.dev/pool: suite}
";

/// A folder with the preset and the nodes that labs of the suite start with.
pub fn work_dir() -> WorkDir {
    let desk = WorkDir::new();
    desk.write("presets/suite/flavor.yaml", PRESET);
    desk.write("nodes.yaml", NODES);
    desk
}

/// Whose cluster it is.
pub enum ClusterKind {
    /// That of `up_args` itself.
    Embedded,
    /// One that this process plays.
    InProcess,
    /// One that somebody runs, by its kubeconfig.
    Kubeconfig(PathBuf),
}

impl ClusterKind {
    /// The clusters to run against.
    pub fn from_env() -> Vec<Self> {
        match std::env::var_os(KUBECONFIG_VARIABLE).filter(|file| !file.is_empty()) {
            Some(file) => {
                let file = std::fs::canonicalize(&file);
                vec![Self::Kubeconfig(file.expect(KUBECONFIG_VARIABLE))]
            }
            None => vec![Self::Embedded, Self::InProcess],
        }
    }
}

/// A cluster, and the lab that runs there.
pub struct ClusterUnderTest {
    kind: ClusterKind,
    desk: WorkDir,
    /// Started when the first story needs it.
    existing: OnceCell<ExistingCluster>,
    lab: RwLock<Option<Lab>>,
}

/// A cluster that was there before the lab.
pub struct ExistingCluster {
    /// The cluster, where this process plays it.
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
    pub fn cluster_args(&self) -> [String; 4] {
        [
            "--cluster".into(),
            format!("context:{}", self.context),
            "--kubeconfig".into(),
            self.kubeconfig.display().to_string(),
        ]
    }

    /// `--context` and `--kubeconfig` for it.
    pub fn context_args(&self) -> [String; 4] {
        let [_, _, flag, file] = self.cluster_args();
        ["--context".into(), self.context.clone(), flag, file]
    }
}

/// The running lab.
pub struct Lab {
    /// The process.
    pub running: RunningLab,
    /// A client of its cluster.
    pub client: Client,
}

impl ClusterUnderTest {
    /// A cluster that nobody has started yet.
    pub fn new(kind: ClusterKind) -> Self {
        Self {
            kind,
            desk: work_dir(),
            existing: OnceCell::new(),
            lab: RwLock::new(None),
        }
    }

    /// What its stories are called by.
    pub fn name_prefix(&self) -> &'static str {
        match self.kind {
            ClusterKind::Embedded => "embedded",
            ClusterKind::InProcess => "played",
            ClusterKind::Kubeconfig(_) => "given",
        }
    }

    /// Whose cluster it is.
    pub fn kind(&self) -> &ClusterKind {
        &self.kind
    }

    /// Whether the cluster is there without the lab.
    pub fn is_existing(&self) -> bool {
        !matches!(self.kind, ClusterKind::Embedded)
    }

    /// The folder the lab runs in.
    pub fn work_dir(&self) -> &WorkDir {
        &self.desk
    }

    /// The cluster that was there before the lab.
    pub async fn existing(&self) -> &ExistingCluster {
        let start = || async {
            match &self.kind {
                ClusterKind::Embedded => unreachable!("only for stories of foreign clusters"),
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

    /// How `up_args` is called here.
    pub async fn up_args(&self) -> Vec<String> {
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

    /// Starts a lab of its own here; for stories that have the place for themselves.
    pub async fn start(&self) -> Lab {
        let args = self.up_args().await;
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let running = self.desk.start(&args).await;
        let client = match self.is_existing() {
            true => self.existing().await.client.clone(),
            false => client(Path::new(running.kubeconfig_path())).await,
        };
        Lab { running, client }
    }

    /// The lab all stories share, started if need be. Nobody stops it while this is held.
    pub async fn lab(&self) -> RwLockReadGuard<'_, Option<Lab>> {
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

    /// The place without a lab, and nobody else there while this is held.
    pub async fn without_lab(&self) -> RwLockWriteGuard<'_, Option<Lab>> {
        let mut lab = self.lab.write().await;
        if let Some(lab) = lab.take() {
            assert_eq!(lab.running.stop().await, Some(0));
        }
        lab
    }

    /// Takes everything away, and makes sure that it is gone.
    pub async fn tear_down(&self) {
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

    /// Runs a command that has to succeed; gives what it said.
    pub async fn run(&self, args: impl IntoIterator<Item = String>) -> String {
        let args: Vec<String> = args.into_iter().collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let output = self.desk.run(&args).await;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let log = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?} said {said}{log}");
        said
    }
}

/// A client of the current context of a kubeconfig.
pub async fn client(kubeconfig: &Path) -> Client {
    let config = Kubeconfig::read_from(kubeconfig).unwrap();
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(config, &options).await;
    Client::try_from(config.unwrap()).unwrap()
}
