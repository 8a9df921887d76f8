//! Kueue's job integrations, by framework name.

/// A job integration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framework {
    /// Framework name, such as `batch/job`.
    pub name: &'static str,
    /// API group of the job, empty for core.
    pub group: &'static str,
    /// API version of the job.
    pub version: &'static str,
    /// Kind of the job.
    pub kind: &'static str,
    /// Plural resource name of the job.
    pub resource: &'static str,
    /// Whether it has a MultiKueue adapter.
    pub multi_kueue: bool,
    /// Whether it is a serving kind: its pods are queued instead of itself, so that it needs the
    /// integration `pod`.
    pub serving: bool,
}

const fn framework(
    name: &'static str,
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    resource: &'static str,
) -> Framework {
    Framework {
        name,
        group,
        version,
        kind,
        resource,
        multi_kueue: true,
        serving: false,
    }
}

const JOB_SET: &str = "jobset.x-k8s.io";
const KUBEFLOW: &str = "kubeflow.org";
const LEADER_WORKER_SET: &str = "leaderworkerset.x-k8s.io";
const RAY: &str = "ray.io";
const SPARK: &str = "sparkoperator.k8s.io";
const TRAINER: &str = "trainer.kubeflow.org";
const APP_WRAPPER: &str = "workload.codeflare.dev";

/// All integrations, by name.
#[rustfmt::skip]
pub const FRAMEWORKS: &[Framework] = &[
    framework("batch/job", "batch", "v1", "Job", "jobs"),
    framework("deployment", "apps", "v1", "Deployment", "deployments").without_multi_kueue().serves(),
    framework("jobset.x-k8s.io/jobset", JOB_SET, "v1alpha2", "JobSet", "jobsets"),
    framework("kubeflow.org/jaxjob", KUBEFLOW, "v1", "JAXJob", "jaxjobs"),
    framework("kubeflow.org/mpijob", KUBEFLOW, "v2beta1", "MPIJob", "mpijobs"),
    framework("kubeflow.org/paddlejob", KUBEFLOW, "v1", "PaddleJob", "paddlejobs"),
    framework("kubeflow.org/pytorchjob", KUBEFLOW, "v1", "PyTorchJob", "pytorchjobs"),
    framework("kubeflow.org/tfjob", KUBEFLOW, "v1", "TFJob", "tfjobs"),
    framework("kubeflow.org/xgboostjob", KUBEFLOW, "v1", "XGBoostJob", "xgboostjobs"),
    framework("leaderworkerset.x-k8s.io/leaderworkerset", LEADER_WORKER_SET, "v1", "LeaderWorkerSet", "leaderworkersets").serves(),
    framework("pod", "", "v1", "Pod", "pods"),
    framework("ray.io/raycluster", RAY, "v1", "RayCluster", "rayclusters"),
    framework("ray.io/rayjob", RAY, "v1", "RayJob", "rayjobs"),
    framework("ray.io/rayservice", RAY, "v1", "RayService", "rayservices"),
    framework("sparkoperator.k8s.io/sparkapplication", SPARK, "v1beta2", "SparkApplication", "sparkapplications").without_multi_kueue(),
    framework("statefulset", "apps", "v1", "StatefulSet", "statefulsets").serves(),
    framework("trainer.kubeflow.org/trainjob", TRAINER, "v1alpha1", "TrainJob", "trainjobs"),
    framework("workload.codeflare.dev/appwrapper", APP_WRAPPER, "v1beta2", "AppWrapper", "appwrappers"),
];

impl Framework {
    const fn without_multi_kueue(self) -> Self {
        Self {
            multi_kueue: false,
            ..self
        }
    }

    const fn serves(self) -> Self {
        Self {
            serving: true,
            ..self
        }
    }

    /// The integration with a name.
    pub fn named(name: &str) -> Option<&'static Self> {
        FRAMEWORKS.iter().find(|f| f.name == name)
    }

    /// Group, version and kind as one text.
    pub(super) fn gvk(&self) -> String {
        gvk(self.group, self.version, self.kind)
    }
}

fn gvk(group: &str, version: &str, kind: &str) -> String {
    format!("{group}/{version}, Kind={kind}")
}

/// Parses `Kind.version.group.com` into that text; `None` if it has another form.
pub(super) fn gvk_from_text(text: &str) -> Option<String> {
    let (kind, rest) = text.split_once('.')?;
    let (version, group) = rest.split_once('.')?;
    Some(gvk(group, version, kind))
}
