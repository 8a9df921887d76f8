//! [`SeedLab`]: a lab in virtual time without queues.

use std::future::Future;
use std::path::Path;
use std::time::Duration;

use kueue_lab_clock::Entropy;
use kueue_lab_clock::{Clock, virtual_runtime};
use kueue_lab_lab::{Lab, LabConfig, NodePools};

use super::kubectl::Kubectl;

/// How long to wait for a state, in lab time.
const TIMEOUT: Duration = Duration::from_secs(300);

const NODES: &str = "\
pools:
- name: cpu
  count: 2
  resources: {cpu: 16, memory: 64Gi, pods: 110}
";

/// A preset needs an object.
const PRESET: &str = "\
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: unused}
value: 1
";

/// A lab in virtual time, without queues unless a preset has them.
pub(crate) struct SeedLab {
    pub(crate) lab: Lab,
    pub(crate) kubectl: Kubectl,
    clock: Clock,
}

/// Runs `walk` on a new lab.
pub(crate) fn on_a_lab<F: Future<Output = ()>>(walk: impl FnOnce(SeedLab) -> F) {
    on_a_lab_with_nodes(NODES, walk);
}

/// Runs `walk` on a new lab with these node pools and the operators of jobs.
pub(crate) fn on_a_lab_with_nodes<F: Future<Output = ()>>(
    nodes: &str,
    walk: impl FnOnce(SeedLab) -> F,
) {
    let presets = tempfile::tempdir().unwrap();
    std::fs::create_dir(presets.path().join("empty")).unwrap();
    std::fs::write(presets.path().join("empty/a.yaml"), PRESET).unwrap();
    run(nodes, presets.path(), "empty", walk);
}

/// Runs `walk` on a new lab with these node pools and a shipped preset.
pub(crate) fn on_a_lab_with_preset<F: Future<Output = ()>>(
    nodes: &str,
    preset: &str,
    walk: impl FnOnce(SeedLab) -> F,
) {
    let presets = Path::new(env!("CARGO_MANIFEST_DIR")).join("presets");
    run(nodes, &presets, preset, walk);
}

fn run<F: Future<Output = ()>>(
    nodes: &str,
    presets: &Path,
    preset: &str,
    walk: impl FnOnce(SeedLab) -> F,
) {
    virtual_runtime().unwrap().block_on(async {
        let clock = Clock::starting_at("2026-03-02T12:00:00Z".parse().unwrap());
        let mut config = LabConfig::embedded(clock.clone(), Entropy::seeded(7), presets);
        config.presets.active = Some(preset.into());
        config.components.nodes = NodePools::parse(nodes).unwrap();
        let lab = Lab::start(config);
        let lab = lab.await.unwrap();
        walk(SeedLab {
            kubectl: Kubectl::new(lab.client()),
            lab,
            clock,
        })
        .await;
    });
}

impl SeedLab {
    /// Waits until `reached` returns a value.
    pub(crate) async fn until<T, F: Future<Output = Option<T>>>(
        &self,
        what: &str,
        mut reached: impl FnMut() -> F,
    ) -> T {
        let deadline = self.clock.now() + TIMEOUT;
        while self.clock.now() < deadline {
            if let Some(value) = reached().await {
                return value;
            }
            self.clock.sleep(Duration::from_millis(500)).await;
        }
        panic!("timed out waiting until {what}");
    }

    /// The frameworks of the configuration that the controller runs with.
    pub(crate) fn frameworks(&self) -> Vec<String> {
        let controller = self.lab.controller().unwrap();
        let configuration = &controller.shared().settings.configuration;
        configuration.frameworks().to_vec()
    }

    /// The lab time.
    pub(crate) fn now(&self) -> jiff::Timestamp {
        self.clock.now()
    }

    /// Lets lab time pass.
    pub(crate) async fn sleep(&self, seconds: u64) {
        self.clock.sleep(Duration::from_secs(seconds)).await;
    }

    /// `kubectl -n kueue-system rollout status deployment kueue-controller-manager`
    pub(crate) async fn rollout_status(&self) {
        self.until("the rollout is complete", || {
            self.kubectl.rollout_is_complete()
        })
        .await;
    }

    /// Whether a condition of an object has this status.
    pub(crate) async fn until_condition(&self, path: &str, condition: &str, status: &str) {
        let what = format!("{path} has {condition}={status}");
        self.until(&what, || async {
            let object = self.kubectl.get(path).await?;
            let conditions = object["status"]["conditions"].as_array()?;
            let found = conditions.iter().find(|c| c["type"] == condition)?;
            (found["status"] == status).then_some(())
        })
        .await;
    }
}
