//! The operators: kinds, labels of their pods, and the functions that reconcile them.

use kube::core::{ApiResource, GroupVersionKind};
use serde_json::Value;

use super::observed::Observed;
use super::reconcile_plan::ReconcilePlan;
use super::{
    app_wrapper, argo, inference_service, job_set, kubeflow, leader_worker_set, notebook, ray,
    sandbox, spark_application, tekton, train_job,
};

/// The value of `managedBy` with which an operator reconciles an object; objects of other managers,
/// as that of MultiKueue, are left to them.
#[derive(Clone, Copy)]
pub(super) struct ManagedBy {
    /// JSON pointer of the field in the spec.
    pub field: &'static str,
    /// The operator.
    pub controller: &'static str,
}

const fn managed_by(controller: &'static str) -> Option<ManagedBy> {
    Some(ManagedBy {
        field: "/managedBy",
        controller,
    })
}

const fn managed_by_in_run_policy(controller: &'static str) -> Option<ManagedBy> {
    Some(ManagedBy {
        field: "/runPolicy/managedBy",
        controller,
    })
}

/// The operator of one kind.
pub(super) struct Operator {
    /// API group.
    pub group: &'static str,
    /// API version.
    pub version: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// Plural name.
    pub plural: &'static str,
    /// The label with the name of the object on its pods and on other child objects; without one,
    /// the objects it controls belong to it.
    pub label: Option<&'static str>,
    /// The controller that the operator itself is in `managedBy`, if the kind has that field.
    pub managed_by: Option<ManagedBy>,
    /// The component that its Events come from.
    pub component: &'static str,
    /// Reconciles an object.
    pub reconcile: fn(&Observed<'_>) -> ReconcilePlan,
}

impl Operator {
    /// The resource of the kind.
    pub(super) fn resource(&self) -> ApiResource {
        resource(self.group, self.version, self.kind, self.plural)
    }

    /// The plan of the operator for an object; none if another controller manages it.
    pub(super) fn plan(&self, observed: &Observed<'_>) -> ReconcilePlan {
        match self.is_managed_externally(observed.spec()) {
            true => ReconcilePlan::default(),
            false => (self.reconcile)(observed),
        }
    }

    fn is_managed_externally(&self, spec: &Value) -> bool {
        let Some(own) = self.managed_by else {
            return false;
        };
        let manager = spec.pointer(own.field).and_then(Value::as_str);
        manager.is_some_and(|manager| manager != own.controller)
    }

    /// `apiVersion` of the kind.
    pub(super) fn api_version(&self) -> String {
        format!("{}/{}", self.group, self.version)
    }
}

/// A resource of a group.
pub(super) fn resource(group: &str, version: &str, kind: &str, plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
}

const RAY: Operator = Operator {
    group: "ray.io",
    version: "v1",
    kind: "",
    plural: "",
    label: None,
    managed_by: managed_by("ray.io/kuberay-operator"),
    component: "kuberay-operator",
    reconcile: |_| ReconcilePlan::default(),
};

const TEKTON: Operator = Operator {
    group: "tekton.dev",
    managed_by: managed_by("tekton.dev/pipeline"),
    component: "PipelineRun",
    ..RAY
};

const KUBEFLOW: Operator = Operator {
    group: "kubeflow.org",
    managed_by: managed_by_in_run_policy("kubeflow.org/training-operator"),
    component: "training-operator",
    ..RAY
};

/// All operators.
pub(super) const OPERATORS: &[Operator] = &[
    Operator {
        kind: "RayCluster",
        plural: "rayclusters",
        component: "raycluster-controller",
        reconcile: ray::ray_cluster::reconcile,
        ..RAY
    },
    Operator {
        kind: "RayJob",
        plural: "rayjobs",
        component: "rayjob-controller",
        reconcile: ray::ray_job::reconcile,
        ..RAY
    },
    Operator {
        kind: "RayService",
        plural: "rayservices",
        component: "rayservice-controller",
        reconcile: ray::ray_service::reconcile,
        ..RAY
    },
    Operator {
        group: "jobset.x-k8s.io",
        version: "v1alpha2",
        kind: "JobSet",
        plural: "jobsets",
        managed_by: managed_by("jobset.sigs.k8s.io/jobset-controller"),
        component: "jobset",
        reconcile: job_set::reconcile,
        ..RAY
    },
    Operator {
        kind: "PyTorchJob",
        plural: "pytorchjobs",
        component: "pytorchjob-controller",
        reconcile: kubeflow::py_torch_job,
        ..KUBEFLOW
    },
    Operator {
        kind: "TFJob",
        plural: "tfjobs",
        component: "tfjob-controller",
        reconcile: kubeflow::tf_job,
        ..KUBEFLOW
    },
    Operator {
        kind: "XGBoostJob",
        plural: "xgboostjobs",
        component: "xgboostjob-controller",
        reconcile: kubeflow::xg_boost_job,
        ..KUBEFLOW
    },
    Operator {
        kind: "PaddleJob",
        plural: "paddlejobs",
        component: "paddlejob-controller",
        reconcile: kubeflow::paddle_job,
        ..KUBEFLOW
    },
    Operator {
        kind: "JAXJob",
        plural: "jaxjobs",
        component: "jaxjob-controller",
        reconcile: kubeflow::jax_job,
        ..KUBEFLOW
    },
    Operator {
        version: "v2beta1",
        kind: "MPIJob",
        plural: "mpijobs",
        managed_by: managed_by_in_run_policy("kubeflow.org/mpi-operator"),
        component: "mpi-job-controller",
        reconcile: kubeflow::mpi_job,
        ..KUBEFLOW
    },
    Operator {
        group: "trainer.kubeflow.org",
        version: "v1alpha1",
        kind: "TrainJob",
        plural: "trainjobs",
        managed_by: managed_by("trainer.kubeflow.org/trainjob-controller"),
        component: "trainer-trainjob-controller",
        reconcile: train_job::reconcile,
        ..RAY
    },
    Operator {
        group: "leaderworkerset.x-k8s.io",
        kind: "LeaderWorkerSet",
        plural: "leaderworkersets",
        label: Some(leader_worker_set::NAME_LABEL),
        managed_by: None,
        component: "leaderworkerset",
        reconcile: leader_worker_set::reconcile,
        ..RAY
    },
    Operator {
        group: "workload.codeflare.dev",
        version: "v1beta2",
        kind: "AppWrapper",
        plural: "appwrappers",
        label: Some(app_wrapper::NAME_LABEL),
        managed_by: managed_by("workload.codeflare.dev/appwrapper-controller"),
        component: "appwrapper",
        reconcile: app_wrapper::reconcile,
    },
    Operator {
        group: "sparkoperator.k8s.io",
        version: "v1beta2",
        kind: "SparkApplication",
        plural: "sparkapplications",
        label: Some(spark_application::NAME_LABEL),
        managed_by: None,
        component: "spark-application-controller",
        reconcile: spark_application::reconcile,
    },
    Operator {
        group: "serving.kserve.io",
        version: "v1beta1",
        kind: "InferenceService",
        plural: "inferenceservices",
        managed_by: None,
        component: "v1beta1Controllers",
        reconcile: inference_service::reconcile,
        ..RAY
    },
    Operator {
        kind: "Notebook",
        plural: "notebooks",
        managed_by: None,
        component: "notebook-controller",
        reconcile: notebook::reconcile,
        ..KUBEFLOW
    },
    Operator {
        kind: "PipelineRun",
        plural: "pipelineruns",
        reconcile: tekton::pipeline_run::reconcile,
        ..TEKTON
    },
    Operator {
        kind: "TaskRun",
        plural: "taskruns",
        component: "TaskRun",
        reconcile: tekton::task_run::reconcile,
        ..TEKTON
    },
    Operator {
        group: "argoproj.io",
        version: "v1alpha1",
        kind: "Workflow",
        plural: "workflows",
        managed_by: None,
        component: "workflow-controller",
        reconcile: argo::workflow::reconcile,
        ..RAY
    },
    Operator {
        group: "agents.x-k8s.io",
        version: "v1alpha1",
        kind: "Sandbox",
        plural: "sandboxes",
        managed_by: None,
        component: "sandbox-controller",
        reconcile: sandbox::reconcile,
        ..RAY
    },
];

/// Group, version, kind, plural and required label of the other kinds that are watched.
pub(super) const WATCHED: &[(&str, &str, &str, &str, Option<&str>)] = &[
    ("apps", "v1", "StatefulSet", "statefulsets", None),
    (
        "apps",
        "v1",
        "Deployment",
        "deployments",
        Some(inference_service::NAME_LABEL),
    ),
    ("tekton.dev", "v1", "Task", "tasks", None),
    ("tekton.dev", "v1", "Pipeline", "pipelines", None),
    (
        "trainer.kubeflow.org",
        "v1alpha1",
        "ClusterTrainingRuntime",
        "clustertrainingruntimes",
        None,
    ),
    (
        "trainer.kubeflow.org",
        "v1alpha1",
        "TrainingRuntime",
        "trainingruntimes",
        None,
    ),
];
