//! The JobSet that Kubeflow Trainer creates for a TrainJob from its runtime (trainer
//! `pkg/runtime/core`).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Container, EnvFromSource, EnvVar, PodTemplateSpec, ResourceRequirements, SecretEnvSource,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::job_set::{JobSetSpec, ReplicatedJob};
use super::strategic_merge_patch::strategic_merge;
use super::train_job_spec::{InitializerStep, TrainJobSpec, Trainer};
use super::training_runtime::{MlPolicy, TrainingRuntimeSpec};

/// The label of a replicated job with its step.
const TRAINJOB_ANCESTOR: &str = "trainer.kubeflow.org/trainjob-ancestor-step";
/// The label of the PodGroup of the coscheduling plugin.
const POD_GROUP: &str = "scheduling.x-k8s.io/pod-group";
/// The environment variable with the URI of an initializer.
const STORAGE_URI: &str = "STORAGE_URI";
const DATASET_INITIALIZER: &str = "dataset-initializer";
const MODEL_INITIALIZER: &str = "model-initializer";
/// The step of the training itself.
const TRAINER: &str = "trainer";
/// The container, and for MPI the replicated job, of a training node.
const NODE: &str = "node";

/// Why the JobSet of a TrainJob is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ChildJobSetError {
    /// The runtime is not loaded.
    #[error("the runtime is not loaded")]
    NotLoaded,
    /// The kind of the runtime is not known.
    #[error("unsupported runtime: {kind}{dot}{group}", dot = if .group.is_empty() { "" } else { "." })]
    UnsupportedRuntime {
        /// The API group.
        group: String,
        /// The kind.
        kind: String,
    },
    /// The runtime cannot be read.
    #[error("runtime '{0}' not found")]
    RuntimeNotFound(String),
    /// The template of the runtime, with the patches of the job, is not that of a JobSet; the message of the
    /// decoder.
    #[error("{0}")]
    Decode(String),
    /// The runtime has no container for environment variables.
    #[error(
        "envInjection target podSet {job:?} container {container:?} not found in runtime template"
    )]
    ContainerNotFound {
        /// The replicated job.
        job: String,
        /// The container.
        container: String,
    },
}

impl From<serde_json::Error> for ChildJobSetError {
    fn from(error: serde_json::Error) -> Self {
        Self::Decode(error.to_string())
    }
}

/// The spec of the JobSet of a TrainJob with this name.
///
/// # Errors
/// A patch does not fit the runtime, or the runtime names a container that does not exist.
pub(super) fn child_job_set(
    name: &str,
    job: &TrainJobSpec,
    runtime: &TrainingRuntimeSpec,
) -> Result<JobSetSpec, ChildJobSetError> {
    let mut spec = merge_runtime_patches(job, &runtime.template.spec)?;
    let policy = runtime.ml_policy.as_ref();
    if let Some(trainer) = &job.trainer {
        merge_resources_per_node(&mut spec, trainer, policy);
    }
    set_pod_counts(&mut spec, job, policy);
    check_env_injection(&spec, policy)?;
    for replicated in &mut spec.replicated_jobs {
        set_initializer(replicated, job);
        if let Some(trainer) = &job.trainer {
            set_trainer(replicated, trainer, policy);
        }
        if ancestor(replicated)
            .is_some_and(|step| [DATASET_INITIALIZER, MODEL_INITIALIZER, TRAINER].contains(&step))
        {
            replicated.replicas = Some(1);
        }
        if runtime
            .pod_group_policy
            .as_ref()
            .is_some_and(|p| p.coscheduling.is_some())
        {
            let meta = template_mut(replicated).metadata.get_or_insert_default();
            meta.labels
                .get_or_insert_default()
                .insert(POD_GROUP.to_owned(), name.to_owned());
        }
    }
    Ok(spec)
}

/// Applies the patches of a TrainJob; replicated jobs keep the order of the runtime.
fn merge_runtime_patches(
    job: &TrainJobSpec,
    template: &Value,
) -> Result<JobSetSpec, ChildJobSetError> {
    let mut merged = match template {
        Value::Null => Value::Object(Map::new()),
        template => template.clone(),
    };
    let order: BTreeMap<String, usize> = JobSetSpec::deserialize(&merged)?
        .replicated_jobs
        .into_iter()
        .enumerate()
        .map(|(i, job)| (job.name, i))
        .collect();
    let patches = job.runtime_patches.iter();
    for spec in patches.filter_map(|patch| patch.job_set_spec()) {
        let patch = serde_json::to_value(spec)?;
        strategic_merge(&mut merged, &patch);
    }
    let mut spec = JobSetSpec::deserialize(&merged)?;
    spec.replicated_jobs
        .sort_by_key(|job| order.get(&job.name).copied().unwrap_or(0));
    Ok(spec)
}

/// The step of a replicated job.
fn ancestor(job: &ReplicatedJob) -> Option<&str> {
    let meta = job.template.metadata.as_ref()?;
    meta.labels
        .as_ref()?
        .get(TRAINJOB_ANCESTOR)
        .map(String::as_str)
}

fn template_mut(job: &mut ReplicatedJob) -> &mut PodTemplateSpec {
    &mut job.template.spec.get_or_insert_default().template
}

fn containers_mut<'a>(
    job: &'a mut ReplicatedJob,
    name: &'static str,
) -> impl Iterator<Item = &'a mut Container> {
    let spec = template_mut(job).spec.as_mut();
    let containers = spec.into_iter().flat_map(|spec| &mut spec.containers);
    containers.filter(move |container| container.name == name)
}

/// Whether the replicated job has nodes of an MPI runtime whose launcher is a node as well.
fn is_node_beside_launcher(job: &ReplicatedJob, policy: Option<&MlPolicy>) -> bool {
    job.name == NODE && policy.is_some_and(runs_launcher_as_node)
}

fn runs_launcher_as_node(policy: &MlPolicy) -> bool {
    let mpi = policy.mpi.as_ref();
    mpi.is_some_and(|mpi| mpi.run_launcher_as_node == Some(true))
}

fn merge_resources_per_node(spec: &mut JobSetSpec, trainer: &Trainer, policy: Option<&MlPolicy>) {
    let (Some(resources), true) = (&trainer.resources_per_node, policy.is_some()) else {
        return;
    };
    for job in &mut spec.replicated_jobs {
        if ancestor(job) != Some(TRAINER) && !is_node_beside_launcher(job, policy) {
            continue;
        }
        if let Some(container) = containers_mut(job, NODE).next() {
            merge_resources(&mut container.resources, resources);
        }
    }
}

fn merge_resources(base: &mut Option<ResourceRequirements>, added: &ResourceRequirements) {
    let old = base.take().unwrap_or_default();
    let merge = |old: Option<BTreeMap<_, _>>, added: &Option<BTreeMap<_, _>>| {
        let mut all = old.unwrap_or_default();
        all.extend(added.clone().unwrap_or_default());
        (!all.is_empty()).then_some(all)
    };
    *base = Some(ResourceRequirements {
        limits: merge(old.limits, &added.limits),
        requests: merge(old.requests, &added.requests),
        claims: None,
    });
}

/// Sets parallelism and completions of all replicated jobs.
fn set_pod_counts(spec: &mut JobSetSpec, job: &TrainJobSpec, policy: Option<&MlPolicy>) {
    let of_runtime = policy.map(|policy| policy.num_nodes.unwrap_or(1));
    let wanted = job.trainer.as_ref().and_then(|trainer| trainer.num_nodes);
    let mpi = policy.is_some_and(|policy| policy.mpi.is_some());
    let of_launcher = i32::from(policy.is_some_and(runs_launcher_as_node));
    let mut jobs = spec.replicated_jobs.iter();
    let nodes = match mpi {
        true => jobs.position(|job| job.name == NODE),
        false => jobs.position(|job| ancestor(job) == Some(TRAINER)),
    };
    for (i, job) in spec.replicated_jobs.iter_mut().enumerate() {
        let is_trainer = ancestor(job) == Some(TRAINER);
        let spec = job.template.spec.get_or_insert_default();
        let count = of_runtime.filter(|_| is_trainer).or(spec.parallelism);
        let mut count = count.unwrap_or(1).max(1);
        if let (Some(wanted), true) = (wanted, nodes == Some(i)) {
            count = match of_launcher {
                0 => wanted,
                one => wanted.saturating_sub(one).max(1),
            };
        }
        spec.parallelism = Some(count);
        spec.completions = Some(count);
    }
}

fn check_env_injection(
    spec: &JobSetSpec,
    policy: Option<&MlPolicy>,
) -> Result<(), ChildJobSetError> {
    let torch = policy.and_then(|policy| policy.torch.as_ref());
    let targets = torch.and_then(|torch| torch.env_injection.as_ref());
    for target in targets.iter().flat_map(|injection| &injection.targets) {
        let mut jobs = spec.replicated_jobs.iter();
        let job = jobs.find(|job| job.name == target.job_name);
        let pod = job.and_then(|job| job.template.spec.as_ref()?.template.spec.as_ref());
        let has = |name: &String| {
            pod.is_some_and(|pod| {
                let init = pod.init_containers.iter().flatten();
                let mut all = pod.containers.iter().chain(init);
                all.any(|container| container.name == *name)
            })
        };
        if let Some(missing) = target.container_names.iter().find(|name| !has(name)) {
            return Err(ChildJobSetError::ContainerNotFound {
                job: target.job_name.clone(),
                container: missing.clone(),
            });
        }
    }
    Ok(())
}

fn set_initializer(replicated: &mut ReplicatedJob, job: &TrainJobSpec) {
    let Some(initializer) = &job.initializer else {
        return;
    };
    let (name, step) = match ancestor(replicated) {
        Some(DATASET_INITIALIZER) => (DATASET_INITIALIZER, &initializer.dataset),
        Some(MODEL_INITIALIZER) => (MODEL_INITIALIZER, &initializer.model),
        _ => return,
    };
    let Some(step) = step else {
        return;
    };
    for container in containers_mut(replicated, name) {
        set_initializer_container(container, step);
    }
}

fn set_initializer_container(container: &mut Container, step: &InitializerStep) {
    if let Some(uri) = &step.storage_uri {
        let var = EnvVar {
            name: STORAGE_URI.to_owned(),
            value: Some(uri.clone()),
            value_from: None,
        };
        upsert_env_vars(container, &[var]);
    }
    upsert_env_vars(container, &step.env);
    if let Some(secret) = &step.secret_ref {
        let source = EnvFromSource {
            secret_ref: Some(SecretEnvSource {
                name: secret.name.clone(),
                optional: None,
            }),
            ..EnvFromSource::default()
        };
        container.env_from.get_or_insert_default().push(source);
    }
}

fn set_trainer(replicated: &mut ReplicatedJob, trainer: &Trainer, policy: Option<&MlPolicy>) {
    let is_trainer = ancestor(replicated) == Some(TRAINER);
    if !is_trainer && !is_node_beside_launcher(replicated, policy) {
        return;
    }
    for container in containers_mut(replicated, NODE) {
        if is_trainer {
            set_if_given(&mut container.image, &trainer.image);
            set_if_given(&mut container.command, &trainer.command);
            set_if_given(&mut container.args, &trainer.args);
        }
        upsert_env_vars(container, &trainer.env);
    }
}

fn set_if_given<T: Clone>(field: &mut Option<T>, given: &Option<T>) {
    if given.is_some() {
        field.clone_from(given);
    }
}

fn upsert_env_vars(container: &mut Container, vars: &[EnvVar]) {
    for var in vars {
        let env = container.env.get_or_insert_default();
        match env.iter_mut().find(|known| known.name == var.name) {
            Some(known) => known.clone_from(var),
            None => env.push(var.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn replicated(name: &str, step: &str, resources: &Value) -> Value {
        json!({"name": name, "replicas": 1, "template": {
            "metadata": {"labels": {TRAINJOB_ANCESTOR: step}},
            "spec": {"parallelism": 2, "template": {"spec": {"containers": [
                {"name": name, "image": "i", "resources": resources, "env": [{"name": "A", "value": "1"}]},
                {"name": "sidecar"}]}}}}})
    }

    fn job_set(job: Value, ml_policy: Value, jobs: Value) -> Result<JobSetSpec, ChildJobSetError> {
        let job: TrainJobSpec = serde_json::from_value(job).unwrap();
        let runtime =
            json!({"mlPolicy": ml_policy, "template": {"spec": {"replicatedJobs": jobs}}});
        let runtime: TrainingRuntimeSpec = serde_json::from_value(runtime).unwrap();
        child_job_set("t", &job, &runtime)
    }

    fn counts(set: &JobSetSpec) -> Vec<(&str, Option<i32>)> {
        let jobs = set.replicated_jobs.iter();
        jobs.map(|job| {
            let spec = job.template.spec.as_ref().unwrap();
            assert_eq!(spec.parallelism, spec.completions);
            (job.name.as_str(), spec.parallelism)
        })
        .collect()
    }

    fn container(set: &JobSetSpec, job: usize) -> Value {
        let spec = set.replicated_jobs[job].template.spec.as_ref().unwrap();
        json!(spec.template.spec.as_ref().unwrap().containers[0])
    }

    #[test]
    fn the_trainer_sets_nodes_and_container_of_its_step() {
        let jobs = json!([
            replicated("dataset-initializer", "dataset-initializer", &json!({})),
            replicated(
                "node",
                "trainer",
                &json!({"requests": {"cpu": "1"}, "limits": {"x": "1"}})
            )
        ]);
        let job = json!({
            "initializer": {"dataset": {"storageUri": "hf://a", "secretRef": {"name": "s"}}},
            "trainer": {"numNodes": 3, "image": "j", "args": ["a"],
                "env": [{"name": "B", "value": "2"}, {"name": "A", "value": "3"}],
                "resourcesPerNode": {"requests": {"cpu": "4", "memory": "1Gi"}}}});
        let set = job_set(job.clone(), json!({"torch": {}}), jobs.clone()).unwrap();
        assert_eq!(
            counts(&set),
            [("dataset-initializer", Some(2)), ("node", Some(3))]
        );
        assert_eq!(
            container(&set, 0),
            json!({"name": "dataset-initializer", "image": "i", "resources": {},
                "env": [{"name": "A", "value": "1"}, {"name": "STORAGE_URI", "value": "hf://a"}],
                "envFrom": [{"secretRef": {"name": "s"}}]})
        );
        assert_eq!(
            container(&set, 1),
            json!({"name": "node", "image": "j", "args": ["a"],
                "env": [{"name": "A", "value": "3"}, {"name": "B", "value": "2"}],
                "resources": {"requests": {"cpu": "4", "memory": "1Gi"}, "limits": {"x": "1"}}})
        );
        // Resources per node need a policy.
        let set = job_set(job, Value::Null, jobs).unwrap();
        assert_eq!(
            container(&set, 1)["resources"]["requests"],
            json!({"cpu": "1"})
        );
    }

    #[test]
    fn nodes_are_those_of_the_runtime_by_default_and_mpi_counts_the_launcher() {
        let jobs = json!([
            replicated("launcher", "trainer", &json!({})),
            replicated("node", "", &json!({}))
        ]);
        let of = |trainer: Value, policy: Value| {
            let set = job_set(json!({"trainer": trainer}), policy, jobs.clone()).unwrap();
            let counts = counts(&set);
            (counts[0].1.unwrap(), counts[1].1.unwrap())
        };
        assert_eq!(of(json!(null), json!({"numNodes": 4})), (4, 2));
        assert_eq!(of(json!({"numNodes": 5}), json!(null)), (5, 2));
        assert_eq!(of(json!({"numNodes": 5}), json!({"mpi": {}})), (1, 5));
        let as_node = json!({"mpi": {"runLauncherAsNode": true}});
        assert_eq!(of(json!({"numNodes": 5}), as_node.clone()), (1, 4));
        assert_eq!(of(json!({"numNodes": 1}), as_node), (1, 1));
    }

    #[test]
    fn patches_are_merged_and_replicated_jobs_keep_their_order() {
        let jobs = json!([
            replicated("model-initializer", "model-initializer", &json!({})),
            replicated("node", "trainer", &json!({}))
        ]);
        let patch = json!({"manager": "example.com/m", "trainingRuntimeSpec": {"template": {"spec": {
            "replicatedJobs": [{"name": "node", "template": {"spec": {"template": {
                "metadata": {"labels": {"app": "x"}},
                "spec": {"nodeSelector": {"n": "1"},
                    "containers": [{"name": "sidecar", "securityContext": {"runAsUser": 1}}]}}}}}]}}}});
        let set = job_set(
            json!({"runtimePatches": [patch]}),
            json!({"torch": {}}),
            jobs,
        )
        .unwrap();
        assert_eq!(
            counts(&set),
            [("model-initializer", Some(2)), ("node", Some(1))]
        );
        let template = &set.replicated_jobs[1]
            .template
            .spec
            .as_ref()
            .unwrap()
            .template;
        assert_eq!(json!(template.metadata), json!({"labels": {"app": "x"}}));
        let spec = template.spec.as_ref().unwrap();
        assert_eq!(json!(spec.node_selector), json!({"n": "1"}));
        let names: Vec<_> = spec.containers.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["node", "sidecar"]);
    }

    #[test]
    fn a_missing_container_for_torchrun_is_an_error_and_coscheduling_labels_pods() {
        let jobs = json!([replicated("node", "trainer", &json!({}))]);
        let target = |container: &str| {
            json!({"torch": {"envInjection": {"targets": [
            {"jobName": "node", "containerNames": [container]}]}}})
        };
        assert!(job_set(json!({}), target("sidecar"), jobs.clone()).is_ok());
        assert_eq!(
            job_set(json!({}), target("c"), jobs.clone())
                .unwrap_err()
                .to_string(),
            r#"envInjection target podSet "node" container "c" not found in runtime template"#
        );
        let runtime = json!({"podGroupPolicy": {"coscheduling": {"scheduleTimeoutSeconds": 60}},
            "template": {"spec": {"replicatedJobs": jobs}}});
        let runtime = serde_json::from_value(runtime).unwrap();
        let mut set = child_job_set("t", &TrainJobSpec::default(), &runtime).unwrap();
        let meta = template_mut(&mut set.replicated_jobs[0]).metadata.clone();
        assert_eq!(json!(meta), json!({"labels": {POD_GROUP: "t"}}));
    }
}
