//! The containers in which commands are executed; created at the first command.

use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Debug, Formatter};
use std::sync::{Arc, OnceLock, Weak};

use async_trait::async_trait;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kueue_lab_container::filesystem::{FileSystem, StorageBudget, Tree, Volume, base_image};
use kueue_lab_container::{
    Container, ContainerConfig, Program, ScriptLimits, programs, steps_within,
};
use kueue_lab_skylet::{JobsController, install, program_names, programs as skypilot_programs};
use parking_lot::Mutex;

use super::container_system::ContainerSystem;
use super::exec_container::ExecContainer;
use super::ray_storage::RayStorage;
use super::redis_cli::{REDIS_CLI, RedisCli};
use super::volumes::Volumes;
use super::{container_files, exec_environment, skypilot_nodes, volumes};
use kueue_lab_container_program::Step;
use kueue_lab_controller_runtime::ObjectKey;
use kueue_lab_kubelet::{ContainerRuntime, Kubelet, RunningInstance, image_name};
use kueue_lab_streaming::remote_command::StartError;

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

/// The simulated containers of the lab. Clones share them.
#[derive(Clone, Default)]
pub struct SimulatedRuntime {
    state: Arc<RuntimeState>,
}

/// The containers with state.
pub(super) struct RuntimeState {
    /// By UID of the pod and name.
    containers: Mutex<HashMap<(String, String), RunningContainer>>,
    /// The volumes that the containers of a pod share, by UID of the pod and name.
    volumes: Mutex<HashMap<(String, String), Volume>>,
    budget: StorageBudget,
    ray_storage: Arc<RayStorage>,
    /// The controller of SkyPilot's managed jobs.
    pub(super) jobs_controller: OnceLock<Arc<dyn JobsController>>,
}

/// One instance of a container.
#[derive(Clone)]
struct RunningContainer {
    started: Timestamp,
    container: Arc<Container>,
}

impl Default for RuntimeState {
    fn default() -> Self {
        Self {
            containers: Mutex::default(),
            volumes: Mutex::default(),
            budget: StorageBudget::new(STORAGE),
            ray_storage: Arc::default(),
            jobs_controller: OnceLock::new(),
        }
    }
}

impl Debug for SimulatedRuntime {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("SimulatedRuntime")
    }
}

#[async_trait]
impl ContainerRuntime for SimulatedRuntime {
    fn steps(
        &self,
        words: &[&str],
        environment: &BTreeMap<String, String>,
        image: &str,
        containers: usize,
    ) -> Option<Vec<Step>> {
        let limits = ScriptLimits::default().shared_by(containers);
        steps_within(words, environment, is_image_of(&BUSYBOX, image), limits)
    }

    async fn container(
        &self,
        kubelet: &Kubelet,
        instance: &RunningInstance,
    ) -> Result<Arc<dyn kueue_lab_kubelet::Container>, StartError> {
        let container = self.current_container(kubelet, instance).await;
        Ok(Arc::new(ExecContainer(container)))
    }

    fn pod_changed(&self, pod: &Pod, now: Timestamp) {
        self.state.ray_storage.observe(pod, now);
    }

    fn remove_pod(&self, pod_uid: &str) {
        self.state.containers.lock().retain(|(uid, _), running| {
            let remains = uid != pod_uid;
            if !remains {
                running.container.stop();
            }
            remains
        });
        self.state
            .volumes
            .lock()
            .retain(|(uid, _), _| uid != pod_uid);
    }
}

/// Whether an image is one of these, or in a repository of such a name.
fn is_image_of(names: &[&str], image: &str) -> bool {
    let is_of = |name: &&str| image_name(image) == *name || image.contains(&format!("/{name}/"));
    names.iter().any(is_of)
}

impl SimulatedRuntime {
    /// Serves managed jobs in the Pods of SkyPilot's clusters. Has an effect once.
    pub fn set_jobs_controller(&self, controller: Arc<dyn JobsController>) {
        self.state.jobs_controller.get_or_init(|| controller);
    }

    /// A reference that does not keep the containers.
    pub(super) fn weak(&self) -> Weak<RuntimeState> {
        Arc::downgrade(&self.state)
    }

    pub(super) fn of(state: Arc<RuntimeState>) -> Self {
        Self { state }
    }

    /// A volume of a pod; `key` is the UID of the pod, or the claim for all pods.
    pub(super) fn volume(&self, key: &str, name: &str, now: Timestamp) -> Volume {
        let mut volumes = self.state.volumes.lock();
        let volume = volumes.entry((key.to_owned(), name.to_owned()));
        let new = || Arc::new(Mutex::new(Tree::new(self.state.budget.clone(), now)));
        volume.or_insert_with(new).clone()
    }

    /// The container of an instance, with the current content of its volumes.
    pub(super) async fn current_container(
        &self,
        kubelet: &Kubelet,
        instance: &RunningInstance,
    ) -> Arc<Container> {
        let uid = instance.pod.metadata.uid.clone().unwrap_or_default();
        let key = (uid, instance.spec.name.clone());
        let known = self.state.containers.lock().get(&key).cloned();
        let known = known.filter(|known| known.started == instance.started);
        if let Some(known) = known {
            Volumes::of(kubelet, self).refresh(instance).await;
            return known.container;
        }
        let container = self.create_container(kubelet, instance).await;
        let mut containers = self.state.containers.lock();
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

    async fn create_container(
        &self,
        kubelet: &Kubelet,
        instance: &RunningInstance,
    ) -> Arc<Container> {
        let (pod, spec) = (&instance.pod, &instance.spec);
        let now = kubelet.context().clock.now();
        let image = spec.image.as_deref().unwrap_or_default();
        let name = image_name(image);
        let is_busybox = is_image_of(&BUSYBOX, image);
        let skypilot = skypilot_nodes::runtime(kubelet, self, pod, &spec.name);
        let redis = (name == "redis").then(|| {
            Arc::new(RedisCli {
                kubelet: kubelet.downgrade(),
                storage: self.state.ray_storage.clone(),
                pod: ObjectKey::of(&**pod),
                started: instance.started,
            }) as Arc<dyn Program>
        });
        let system = Arc::new(ContainerSystem::new(kubelet, instance));
        let has_gpus = !system.has_no_gpus();
        let budget = self.state.budget.clone();
        let tree = match is_image_of(&WITHOUT_SHELL, image) {
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
            let volume = volumes::mounted_volume(self, pod, &mount.name, now);
            files.mount(&mount.mount_path, volume, now);
        }
        Volumes::of(kubelet, self).refresh(instance).await;
        volumes::copy_sub_paths(&files, self, pod, spec, now);
        let working_dir = spec.working_dir.clone().filter(|dir| dir.starts_with('/'));
        let working_dir = working_dir.unwrap_or_else(|| "/".into());
        files.provide_directory(&working_dir, now);
        Container::new(ContainerConfig {
            hostname,
            environment: exec_environment::environment(kubelet, instance).await,
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
