//! Where the stories play: a cluster, and a lab on it that the stories share.

use std::path::{Path, PathBuf};

use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio::sync::{OnceCell, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::binary::{Desk, Running};
use crate::cluster::{CONTEXT, OtherCluster};
use crate::objects::all_labelled;

/// The variable that names the kubeconfig of a cluster to run against.
const VARIABLE: &str = "KUEUE_LAB_TEST_KUBECONFIG";

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
pub fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("presets/suite/flavor.yaml", PRESET);
    desk.write("nodes.yaml", NODES);
    desk
}

/// Whose cluster it is.
pub enum Kind {
    /// That of `up` itself.
    Embedded,
    /// One that this process plays.
    Played,
    /// One that somebody runs, by its kubeconfig.
    Given(PathBuf),
}

impl Kind {
    /// The clusters to run against.
    pub fn asked_for() -> Vec<Self> {
        match std::env::var_os(VARIABLE).filter(|file| !file.is_empty()) {
            Some(file) => {
                let file = std::fs::canonicalize(&file);
                vec![Self::Given(file.expect(VARIABLE))]
            }
            None => vec![Self::Embedded, Self::Played],
        }
    }
}

/// A cluster, and the lab that runs there.
pub struct Place {
    kind: Kind,
    desk: Desk,
    /// Started when the first story needs it.
    foreign: OnceCell<Foreign>,
    lab: RwLock<Option<Lab>>,
}

/// A cluster that was there before the lab.
pub struct Foreign {
    /// The cluster, where this process plays it.
    pub played: Option<OtherCluster>,
    /// Its kubeconfig.
    pub kubeconfig: PathBuf,
    /// The context in it.
    pub context: String,
    /// A client of it.
    pub client: Client,
}

impl Foreign {
    /// `--cluster` and `--kubeconfig` for it.
    pub fn arguments(&self) -> [String; 4] {
        [
            "--cluster".into(),
            format!("context:{}", self.context),
            "--kubeconfig".into(),
            self.kubeconfig.display().to_string(),
        ]
    }

    /// `--context` and `--kubeconfig` for it.
    pub fn target(&self) -> [String; 4] {
        let [_, _, flag, file] = self.arguments();
        ["--context".into(), self.context.clone(), flag, file]
    }
}

/// The running lab.
pub struct Lab {
    /// The process.
    pub running: Running,
    /// A client of its cluster.
    pub client: Client,
}

impl Place {
    /// A cluster that nobody has started yet.
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            desk: desk(),
            foreign: OnceCell::new(),
            lab: RwLock::new(None),
        }
    }

    /// What its stories are called by.
    pub fn title(&self) -> &'static str {
        match self.kind {
            Kind::Embedded => "embedded",
            Kind::Played => "played",
            Kind::Given(_) => "given",
        }
    }

    /// Whose cluster it is.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Whether the cluster is there without the lab.
    pub fn is_foreign(&self) -> bool {
        !matches!(self.kind, Kind::Embedded)
    }

    /// The folder the lab runs in.
    pub fn desk(&self) -> &Desk {
        &self.desk
    }

    /// The cluster that was there before the lab.
    pub async fn foreign(&self) -> &Foreign {
        let start = || async {
            match &self.kind {
                Kind::Embedded => unreachable!("only for stories of foreign clusters"),
                Kind::Played => {
                    let cluster = OtherCluster::start().await;
                    Foreign {
                        kubeconfig: cluster.kubeconfig(),
                        context: CONTEXT.into(),
                        client: client(&cluster.kubeconfig()).await,
                        played: Some(cluster),
                    }
                }
                Kind::Given(file) => {
                    let config = Kubeconfig::read_from(file).unwrap();
                    Foreign {
                        kubeconfig: file.clone(),
                        context: config.current_context.expect("a current context"),
                        client: client(file).await,
                        played: None,
                    }
                }
            }
        };
        self.foreign.get_or_init(start).await
    }

    /// How `up` is called here.
    pub async fn up(&self) -> Vec<String> {
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
        if self.is_foreign() {
            args.push("--yes".into());
            args.extend(self.foreign().await.arguments());
        }
        args
    }

    /// Starts a lab of its own here; for stories that have the place for themselves.
    pub async fn start(&self) -> Lab {
        let args = self.up().await;
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let running = self.desk.start(&args).await;
        let client = match self.is_foreign() {
            true => self.foreign().await.client.clone(),
            false => client(Path::new(running.said())).await,
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
    pub async fn alone(&self) -> RwLockWriteGuard<'_, Option<Lab>> {
        let mut lab = self.lab.write().await;
        if let Some(lab) = lab.take() {
            assert_eq!(lab.running.stop().await, Some(0));
        }
        lab
    }

    /// Takes everything away, and makes sure that it is gone.
    pub async fn end(&self) {
        drop(self.alone().await);
        let Some(foreign) = self.foreign.get() else {
            return;
        };
        let down = ["down".to_owned(), "--yes".to_owned()];
        self.run(down.into_iter().chain(foreign.arguments())).await;
        let uninstall = ["uninstall".to_owned(), "--yes".to_owned()];
        self.run(uninstall.into_iter().chain(foreign.target()))
            .await;
        let left = all_labelled(&foreign.client).await;
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
