//! The system of a simulated container: clock, network and GPUs of the lab.

use std::net::IpAddr;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container as ContainerSpec, Pod};
use kueue_lab_container::{ContainerProcess, Gpu, RequestError, System};
use sha2::{Digest, Sha256};

use super::requests::request as request_of_pod;
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use kueue_lab_controller_runtime::ObjectKey;
use kueue_lab_controller_utils::pods::node_of;
use kueue_lab_kubelet::{Kubelet, RunningInstance, WeakKubelet};

/// The resource of NVIDIA's device plugin.
const NVIDIA_GPU: &str = "nvidia.com/gpu";
/// GPUs that are listed at most.
const GPUS: u64 = 64;

/// The system of one instance of a container.
pub(super) struct ContainerSystem {
    kubelet: WeakKubelet,
    clock: Clock,
    entropy: Entropy,
    /// The pod of the container.
    key: ObjectKey,
    uid: String,
    container: String,
    process: ContainerProcess,
    gpus: Vec<Gpu>,
    cpus: u64,
}

impl ContainerSystem {
    pub(super) fn new(kubelet: &Kubelet, instance: &RunningInstance) -> Self {
        let context = kubelet.context();
        let (pod, spec) = (&instance.pod, &instance.spec);
        let words = spec
            .command
            .iter()
            .flatten()
            .chain(spec.args.iter().flatten());
        Self {
            kubelet: kubelet.downgrade(),
            clock: context.clock.clone(),
            entropy: context.entropy.clone(),
            key: ObjectKey::of(&**pod),
            uid: pod.metadata.uid.clone().unwrap_or_default(),
            container: spec.name.clone(),
            process: ContainerProcess {
                command: words.cloned().collect(),
                started: instance.started,
            },
            gpus: gpus(kubelet, pod, spec),
            cpus: resource(spec, "cpu").unwrap_or(4).max(1),
        }
    }

    pub(super) fn has_no_gpus(&self) -> bool {
        self.gpus.is_empty()
    }
}

/// The limit or request of a resource, rounded up.
fn resource(spec: &ContainerSpec, name: &str) -> Option<u64> {
    let resources = spec.resources.as_ref()?;
    let lists = [&resources.limits, &resources.requests];
    let mut lists = lists.into_iter().flatten();
    let quantity = lists.find_map(|list| list.get(name))?;
    let quantity: kueue_lab_quantity::Quantity = quantity.0.parse().ok()?;
    u64::try_from(quantity.value()).ok()
}

/// The GPUs of a container; product and memory are those of the node's labels.
fn gpus(kubelet: &Kubelet, pod: &Pod, spec: &ContainerSpec) -> Vec<Gpu> {
    let count = resource(spec, NVIDIA_GPU).unwrap_or(0).min(GPUS);
    let node = node_of(pod).and_then(|name| kubelet.node(name));
    let label = |key: &str| {
        let labels = node.as_ref()?.metadata.labels.as_ref()?;
        labels.get(key).cloned()
    };
    let product = label("nvidia.com/gpu.product").unwrap_or_else(|| "NVIDIA-A100-SXM4-80GB".into());
    let name = product.replacen('-', " ", 1);
    let memory = label("nvidia.com/gpu.memory").and_then(|memory| memory.parse().ok());
    let uid = pod.metadata.uid.as_deref().unwrap_or_default();
    let gpu = |index: u64| {
        let hash = Sha256::digest(format!("{uid}/{}/{index}", spec.name));
        let hex: String = hash
            .iter()
            .take(16)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let parts = [
            &hex[..8],
            &hex[8..12],
            &hex[12..16],
            &hex[16..20],
            &hex[20..],
        ];
        Gpu {
            name: name.clone(),
            uuid: format!("GPU-{}", parts.join("-")),
            memory_mib: memory.unwrap_or(81_920),
        }
    };
    (0..count).map(gpu).collect()
}

#[async_trait]
impl System for ContainerSystem {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    async fn sleep(&self, time: Duration) {
        self.clock.sleep(time).await;
    }

    async fn request(&self, request: Request<Bytes>) -> Result<Response<Bytes>, RequestError> {
        match self.kubelet.upgrade() {
            Some(kubelet) => request_of_pod(&kubelet, &self.key, request).await,
            None => Err(RequestError::EmptyReply),
        }
    }

    async fn resolve(&self, host: &str) -> Vec<IpAddr> {
        match self.kubelet.upgrade() {
            Some(kubelet) => kubelet.resolve(&self.key, host).await,
            None => Vec::new(),
        }
    }

    fn gpus(&self) -> Vec<Gpu> {
        self.gpus.clone()
    }

    fn cpus(&self) -> u64 {
        self.cpus
    }

    fn main_process(&self) -> ContainerProcess {
        self.process.clone()
    }

    fn signal(&self, signal: i32) {
        // The main process of a container ignores signals without a handler.
        if matches!(signal, 2 | 15)
            && let Some(kubelet) = self.kubelet.upgrade()
        {
            let now = self.clock.now();
            kubelet.terminate_container(&self.key, &self.uid, &self.container, now, 128 + signal);
        }
    }

    fn random(&self) -> u64 {
        let half = || (self.entropy.unit() * (1_u64 << 32) as f64) as u64;
        half() << 32 | half()
    }
}
