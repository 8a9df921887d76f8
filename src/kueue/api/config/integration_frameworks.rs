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
    }
}

const fn without_multi_kueue(framework: Framework) -> Framework {
    Framework {
        multi_kueue: false,
        ..framework
    }
}

/// All integrations, by name.
pub const FRAMEWORKS: &[Framework] = &[
    framework("batch/job", "batch", "v1", "Job", "jobs"),
    without_multi_kueue(framework(
        "deployment",
        "apps",
        "v1",
        "Deployment",
        "deployments",
    )),
    framework(
        "jobset.x-k8s.io/jobset",
        "jobset.x-k8s.io",
        "v1alpha2",
        "JobSet",
        "jobsets",
    ),
    framework(
        "kubeflow.org/jaxjob",
        "kubeflow.org",
        "v1",
        "JAXJob",
        "jaxjobs",
    ),
    framework(
        "kubeflow.org/mpijob",
        "kubeflow.org",
        "v2beta1",
        "MPIJob",
        "mpijobs",
    ),
    framework(
        "kubeflow.org/paddlejob",
        "kubeflow.org",
        "v1",
        "PaddleJob",
        "paddlejobs",
    ),
    framework(
        "kubeflow.org/pytorchjob",
        "kubeflow.org",
        "v1",
        "PyTorchJob",
        "pytorchjobs",
    ),
    framework(
        "kubeflow.org/tfjob",
        "kubeflow.org",
        "v1",
        "TFJob",
        "tfjobs",
    ),
    framework(
        "kubeflow.org/xgboostjob",
        "kubeflow.org",
        "v1",
        "XGBoostJob",
        "xgboostjobs",
    ),
    framework(
        "leaderworkerset.x-k8s.io/leaderworkerset",
        "leaderworkerset.x-k8s.io",
        "v1",
        "LeaderWorkerSet",
        "leaderworkersets",
    ),
    framework("pod", "", "v1", "Pod", "pods"),
    framework(
        "ray.io/raycluster",
        "ray.io",
        "v1",
        "RayCluster",
        "rayclusters",
    ),
    framework("ray.io/rayjob", "ray.io", "v1", "RayJob", "rayjobs"),
    framework(
        "ray.io/rayservice",
        "ray.io",
        "v1",
        "RayService",
        "rayservices",
    ),
    without_multi_kueue(framework(
        "sparkoperator.k8s.io/sparkapplication",
        "sparkoperator.k8s.io",
        "v1beta2",
        "SparkApplication",
        "sparkapplications",
    )),
    framework("statefulset", "apps", "v1", "StatefulSet", "statefulsets"),
    framework(
        "trainer.kubeflow.org/trainjob",
        "trainer.kubeflow.org",
        "v1alpha1",
        "TrainJob",
        "trainjobs",
    ),
    framework(
        "workload.codeflare.dev/appwrapper",
        "workload.codeflare.dev",
        "v1beta2",
        "AppWrapper",
        "appwrappers",
    ),
];

/// The frameworks that upstream's release manifest enables.
pub const RELEASE_MANIFEST_FRAMEWORKS: &[&str] = &[
    "batch/job",
    "kubeflow.org/mpijob",
    "ray.io/rayjob",
    "ray.io/raycluster",
    "ray.io/rayservice",
    "jobset.x-k8s.io/jobset",
    "workload.codeflare.dev/appwrapper",
    "trainer.kubeflow.org/trainjob",
    "pod",
    "deployment",
    "statefulset",
    "leaderworkerset.x-k8s.io/leaderworkerset",
];

impl Framework {
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
