//! The containers in which commands are executed; created at the first command.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container as ContainerSpec, Pod};
use kube::ResourceExt;
use kueue_lab_container::filesystem::{FileSystem, StorageBudget, Tree, Volume, base_image};
use kueue_lab_container::{Container, ContainerConfig, Program, programs};
use kueue_lab_skylet::{install, program_names, programs as skypilot_programs};
use parking_lot::Mutex;

use super::container_system::ContainerSystem;
use super::pod_workers::{Kubelet, Shared};
use super::redis_cli::{REDIS_CLI, RedisCli};
use super::simulated_container::{ContainerPhase, ephemeral_containers};
use super::{container_files, exec_environment, skypilot_nodes, volumes};
use kueue_lab_controller_runtime::ObjectKey;

/// Bytes of all files of all containers.
pub(super) const STORAGE: usize = 64 << 20;
/// Images without a shell.
const WITHOUT_SHELL: [&str; 6] = [
    "pause",
    "distroless",
    "hello-world",
    "scratch",
    "sleep",
    "kueue",
];
/// Images of BusyBox.
const BUSYBOX: [&str; 2] = ["busybox", "alpine"];

/// The containers with state.
pub(super) struct ContainerRuntime {
    /// By UID of the pod and name.
    containers: Mutex<HashMap<(String, String), RunningContainer>>,
    /// The volumes that the containers of a pod share, by UID of the pod and name.
    volumes: Mutex<HashMap<(String, String), Volume>>,
    budget: StorageBudget,
}

/// One instance of a container.
#[derive(Clone)]
struct RunningContainer {
    started: Timestamp,
    container: Arc<Container>,
}

impl Default for ContainerRuntime {
    fn default() -> Self {
        Self {
            containers: Mutex::default(),
            volumes: Mutex::default(),
            budget: StorageBudget::new(STORAGE),
        }
    }
}

impl ContainerRuntime {
    /// Drops the state of a pod that has ended.
    pub(super) fn remove_pod(&self, pod_uid: &str) {
        self.containers.lock().retain(|(uid, _), running| {
            let remains = uid != pod_uid;
            if !remains {
                running.container.stop();
            }
            remains
        });
        self.volumes.lock().retain(|(uid, _), _| uid != pod_uid);
    }

    /// A volume of a pod; `key` is the UID of the pod, or the claim for all pods.
    pub(super) fn volume(&self, key: &str, name: &str, now: Timestamp) -> Volume {
        let mut volumes = self.volumes.lock();
        let volume = volumes.entry((key.to_owned(), name.to_owned()));
        let new = || Arc::new(Mutex::new(Tree::new(self.budget.clone(), now)));
        volume.or_insert_with(new).clone()
    }
}

/// A container of a pod that runs.
pub(super) struct RunningInstance {
    pub(super) pod: Arc<Pod>,
    pub(super) spec: ContainerSpec,
    pub(super) started: Timestamp,
}

/// The spec of a container.
pub(super) fn container_spec(pod: &Pod, name: &str) -> Option<ContainerSpec> {
    let spec = pod.spec.as_ref()?;
    let inits = spec.init_containers.iter().flatten();
    let mut known = spec.containers.iter().chain(inits);
    let found = known.find(|container| container.name == name).cloned();
    found.or_else(|| {
        let mut ephemeral = ephemeral_containers(pod).into_iter();
        ephemeral.find(|container| container.name == name)
    })
}

/// The last part of an image's name, without tag and digest.
pub(super) fn image_name(image: &str) -> &str {
    let name = image.split('@').next().unwrap_or_default();
    let name = name.rsplit('/').next().unwrap_or_default();
    name.split(':').next().unwrap_or_default()
}

impl Shared {
    /// A container that runs; `None` if it does not.
    pub(super) fn running_instance(
        &self,
        key: &ObjectKey,
        uid: &str,
        name: &str,
    ) -> Option<RunningInstance> {
        let pod = self.pods.get(key)?;
        if pod.metadata.uid.as_deref() != Some(uid) {
            return None;
        }
        let started = {
            let simulated = self.simulated_pods.lock();
            let simulated = simulated.get(key).filter(|pod| pod.uid == uid)?;
            let mut containers = simulated.containers.iter();
            match containers.find(|c| c.name == name)?.phase {
                ContainerPhase::Running { since, .. } => since,
                _ => return None,
            }
        };
        let spec = container_spec(&pod, name)?;
        Some(RunningInstance { pod, spec, started })
    }
}

impl Kubelet {
    /// The container of an instance, with the current content of its volumes.
    pub(super) async fn container(&self, instance: &RunningInstance) -> Arc<Container> {
        let shared = self.shared();
        let uid = instance.pod.metadata.uid.clone().unwrap_or_default();
        let key = (uid, instance.spec.name.clone());
        let known = shared.runtime.containers.lock().get(&key).cloned();
        let known = known.filter(|known| known.started == instance.started);
        if let Some(known) = known {
            self.refresh_volumes(instance).await;
            return known.container;
        }
        let container = self.create_container(instance).await;
        let mut containers = shared.runtime.containers.lock();
        // Another command may have created it concurrently.
        let current = containers.entry(key).or_insert_with(|| RunningContainer {
            started: instance.started,
            container: container.clone(),
        });
        if current.started != instance.started {
            current.container.stop();
            *current = RunningContainer {
                started: instance.started,
                container,
            };
        }
        current.container.clone()
    }

    async fn create_container(&self, instance: &RunningInstance) -> Arc<Container> {
        let shared = self.shared();
        let (pod, spec) = (&instance.pod, &instance.spec);
        let now = shared.context.clock.now();
        let image = spec.image.as_deref().unwrap_or_default();
        let name = image_name(image);
        let has = |words: &[&str]| {
            words
                .iter()
                .any(|w| name == *w || image.contains(&format!("/{w}/")))
        };
        let is_busybox = has(&BUSYBOX);
        let skypilot = skypilot_nodes::runtime(self, pod, &spec.name);
        let redis = (name == "redis").then(|| {
            Arc::new(RedisCli {
                shared: self.weak(),
                pod: ObjectKey::of(&**pod),
                started: instance.started,
            }) as Arc<dyn Program>
        });
        let system = Arc::new(ContainerSystem::new(self, instance));
        let has_gpus = !system.has_no_gpus();
        let budget = shared.runtime.budget.clone();
        let tree = match has(&WITHOUT_SHELL) {
            true => base_image([], budget, now),
            false => {
                let installed = skypilot.iter().flat_map(|_| program_names());
                let installed = installed.chain(redis.is_some().then_some(REDIS_CLI));
                base_image(programs(is_busybox, has_gpus).chain(installed), budget, now)
            }
        };
        let files = FileSystem::new(tree);
        if skypilot.is_some() {
            install(&files, now);
        }
        let hostname = pod.spec.as_ref().and_then(|s| s.hostname.clone());
        let hostname = hostname.unwrap_or_else(|| pod.name_any());
        container_files::provide(&files, pod, spec, &hostname, is_busybox, now);
        for mount in spec.volume_mounts.iter().flatten() {
            let volume = volumes::mounted_volume(&shared.runtime, pod, &mount.name, now);
            files.mount(&mount.mount_path, volume, now);
        }
        self.refresh_volumes(instance).await;
        volumes::copy_sub_paths(&files, &shared.runtime, pod, spec, now);
        let working_dir = spec.working_dir.clone().filter(|dir| dir.starts_with('/'));
        let working_dir = working_dir.unwrap_or_else(|| "/".into());
        files.provide_directory(&working_dir, now);
        Container::new(ContainerConfig {
            hostname,
            environment: exec_environment::environment(self, instance).await,
            working_dir,
            is_busybox,
            files,
            system,
            programs: skypilot
                .iter()
                .flat_map(skypilot_programs)
                .chain(redis)
                .collect(),
        })
    }
}
