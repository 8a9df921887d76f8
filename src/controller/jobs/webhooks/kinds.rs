//! The kinds of jobs with webhooks.

/// A kind with a mutating and a validating webhook.
#[derive(Debug)]
pub struct JobWebhookKind {
    /// API group, empty for core.
    pub group: &'static str,
    /// The API version the webhook decodes.
    pub version: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// Plural resource name.
    pub resource: &'static str,
    /// The framework name of its integration.
    pub framework: &'static str,
    /// The stem of the webhook names.
    pub name: &'static str,
    /// Whether the kind is a serving workload, whose pods are queued instead of itself.
    pub is_serving: bool,
}

const fn kind(
    (group, version, kind): (&'static str, &'static str, &'static str),
    resource: &'static str,
    framework: &'static str,
    name: &'static str,
) -> JobWebhookKind {
    JobWebhookKind {
        group,
        version,
        kind,
        resource,
        framework,
        name,
        is_serving: false,
    }
}

const fn serving(kind: JobWebhookKind) -> JobWebhookKind {
    JobWebhookKind {
        is_serving: true,
        ..kind
    }
}

/// The kinds with webhooks.
pub const KINDS: &[JobWebhookKind] = &[
    kind(("batch", "v1", "Job"), "jobs", "batch/job", "job"),
    kind(("", "v1", "Pod"), "pods", "pod", "pod"),
    serving(kind(
        ("apps", "v1", "Deployment"),
        "deployments",
        "deployment",
        "deployment",
    )),
    serving(kind(
        ("apps", "v1", "StatefulSet"),
        "statefulsets",
        "statefulset",
        "statefulset",
    )),
    serving(kind(
        ("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet"),
        "leaderworkersets",
        "leaderworkerset.x-k8s.io/leaderworkerset",
        "leaderworkerset",
    )),
    kind(
        ("jobset.x-k8s.io", "v1alpha2", "JobSet"),
        "jobsets",
        "jobset.x-k8s.io/jobset",
        "jobset",
    ),
    kind(
        ("kubeflow.org", "v1", "JAXJob"),
        "jaxjobs",
        "kubeflow.org/jaxjob",
        "jaxjob",
    ),
    kind(
        ("kubeflow.org", "v2beta1", "MPIJob"),
        "mpijobs",
        "kubeflow.org/mpijob",
        "mpijob",
    ),
    kind(
        ("kubeflow.org", "v1", "PaddleJob"),
        "paddlejobs",
        "kubeflow.org/paddlejob",
        "paddlejob",
    ),
    kind(
        ("kubeflow.org", "v1", "PyTorchJob"),
        "pytorchjobs",
        "kubeflow.org/pytorchjob",
        "pytorchjob",
    ),
    kind(
        ("kubeflow.org", "v1", "TFJob"),
        "tfjobs",
        "kubeflow.org/tfjob",
        "tfjob",
    ),
    kind(
        ("kubeflow.org", "v1", "XGBoostJob"),
        "xgboostjobs",
        "kubeflow.org/xgboostjob",
        "xgboostjob",
    ),
    kind(
        ("sparkoperator.k8s.io", "v1beta2", "SparkApplication"),
        "sparkapplications",
        "sparkoperator.k8s.io/sparkapplication",
        "sparkapplication",
    ),
    kind(
        ("workload.codeflare.dev", "v1beta2", "AppWrapper"),
        "appwrappers",
        "workload.codeflare.dev/appwrapper",
        "appwrapper",
    ),
    kind(
        ("ray.io", "v1", "RayCluster"),
        "rayclusters",
        "ray.io/raycluster",
        "raycluster",
    ),
    kind(
        ("ray.io", "v1", "RayJob"),
        "rayjobs",
        "ray.io/rayjob",
        "rayjob",
    ),
    kind(
        ("ray.io", "v1", "RayService"),
        "rayservices",
        "ray.io/rayservice",
        "rayservice",
    ),
    kind(
        ("trainer.kubeflow.org", "v1alpha1", "TrainJob"),
        "trainjobs",
        "trainer.kubeflow.org/trainjob",
        "trainjob",
    ),
];
