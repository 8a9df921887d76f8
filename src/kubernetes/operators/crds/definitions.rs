//! Names, columns and subresources of the kinds.

use serde_json::{Value, json};

use super::schema_text;

/// One CustomResourceDefinition with a single version.
struct Definition {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
    short_names: &'static [&'static str],
    categories: &'static [&'static str],
    namespaced: bool,
    status: bool,
    /// The paths of the scale subresource: replicas in the spec, replicas and selector in the status.
    scale: Option<[&'static str; 3]>,
    columns: &'static [Column],
}

/// Name, type, JSONPath and priority of a column of `kubectl get`.
type Column = (&'static str, &'static str, &'static str, u8);

const NAMESPACED: Definition = Definition {
    group: "",
    version: "v1",
    kind: "",
    plural: "",
    short_names: &[],
    categories: &[],
    namespaced: true,
    status: true,
    scale: None,
    columns: &[],
};

const RAY: Definition = Definition {
    group: "ray.io",
    categories: &["all"],
    ..NAMESPACED
};

const KUBEFLOW: Definition = Definition {
    group: "kubeflow.org",
    columns: &[
        ("State", "string", ".status.conditions[-1:].type", 0),
        ("Age", "date", CREATED, 0),
    ],
    ..NAMESPACED
};

const TRAINER: Definition = Definition {
    group: "trainer.kubeflow.org",
    version: "v1alpha1",
    ..NAMESPACED
};

const TEKTON: Definition = Definition {
    group: "tekton.dev",
    categories: &["tekton", "tekton-pipelines"],
    ..NAMESPACED
};

/// The columns of Tekton's runs.
const RUN_COLUMNS: &[Column] = &[
    (
        "Succeeded",
        "string",
        ".status.conditions[?(@.type==\"Succeeded\")].status",
        0,
    ),
    (
        "Reason",
        "string",
        ".status.conditions[?(@.type==\"Succeeded\")].reason",
        0,
    ),
    ("StartTime", "date", ".status.startTime", 0),
    ("CompletionTime", "date", ".status.completionTime", 0),
];

const CREATED: &str = ".metadata.creationTimestamp";

/// The scale subresource of a kind with replicas of the type Worker.
macro_rules! worker_scale {
    ($specs:literal) => {
        Some([
            concat!(".spec.", $specs, ".Worker.replicas"),
            ".status.replicaStatuses.Worker.active",
            ".status.replicaStatuses.Worker.selector",
        ])
    };
}

const DEFINITIONS: &[Definition] = &[
    Definition {
        kind: "RayCluster",
        plural: "rayclusters",
        columns: &[
            (
                "desired workers",
                "integer",
                ".status.desiredWorkerReplicas",
                0,
            ),
            (
                "available workers",
                "integer",
                ".status.availableWorkerReplicas",
                0,
            ),
            ("cpus", "string", ".status.desiredCPU", 0),
            ("memory", "string", ".status.desiredMemory", 0),
            ("gpus", "string", ".status.desiredGPU", 0),
            ("tpus", "string", ".status.desiredTPU", 1),
            ("status", "string", ".status.state", 0),
            ("age", "date", CREATED, 0),
            ("head pod IP", "string", ".status.head.podIP", 1),
            ("head service IP", "string", ".status.head.serviceIP", 1),
        ],
        ..RAY
    },
    Definition {
        kind: "RayJob",
        plural: "rayjobs",
        columns: &[
            ("job status", "string", ".status.jobStatus", 0),
            (
                "deployment status",
                "string",
                ".status.jobDeploymentStatus",
                0,
            ),
            ("ray cluster name", "string", ".status.rayClusterName", 0),
            ("start time", "string", ".status.startTime", 0),
            ("end time", "string", ".status.endTime", 0),
            ("age", "date", CREATED, 0),
        ],
        ..RAY
    },
    Definition {
        kind: "RayService",
        plural: "rayservices",
        columns: &[
            ("service status", "string", ".status.serviceStatus", 0),
            (
                "num serve endpoints",
                "string",
                ".status.numServeEndpoints",
                0,
            ),
        ],
        ..RAY
    },
    Definition {
        group: "jobset.x-k8s.io",
        version: "v1alpha2",
        kind: "JobSet",
        plural: "jobsets",
        columns: &[
            ("TerminalState", "string", ".status.terminalState", 0),
            ("Restarts", "string", ".status.restarts", 0),
            (
                "Completed",
                "string",
                ".status.conditions[?(@.type==\"Completed\")].status",
                0,
            ),
            ("Suspended", "string", ".spec.suspend", 0),
            ("Age", "date", CREATED, 0),
        ],
        ..NAMESPACED
    },
    Definition {
        kind: "PyTorchJob",
        plural: "pytorchjobs",
        scale: worker_scale!("pytorchReplicaSpecs"),
        ..KUBEFLOW
    },
    Definition {
        kind: "TFJob",
        plural: "tfjobs",
        ..KUBEFLOW
    },
    Definition {
        kind: "XGBoostJob",
        plural: "xgboostjobs",
        ..KUBEFLOW
    },
    Definition {
        kind: "PaddleJob",
        plural: "paddlejobs",
        scale: worker_scale!("paddleReplicaSpecs"),
        ..KUBEFLOW
    },
    Definition {
        kind: "JAXJob",
        plural: "jaxjobs",
        scale: worker_scale!("jaxReplicaSpecs"),
        ..KUBEFLOW
    },
    Definition {
        version: "v2beta1",
        kind: "MPIJob",
        plural: "mpijobs",
        columns: &[],
        ..KUBEFLOW
    },
    Definition {
        kind: "TrainJob",
        plural: "trainjobs",
        columns: KUBEFLOW.columns,
        ..TRAINER
    },
    Definition {
        kind: "ClusterTrainingRuntime",
        plural: "clustertrainingruntimes",
        namespaced: false,
        status: false,
        ..TRAINER
    },
    Definition {
        kind: "TrainingRuntime",
        plural: "trainingruntimes",
        status: false,
        ..TRAINER
    },
    Definition {
        group: "leaderworkerset.x-k8s.io",
        kind: "LeaderWorkerSet",
        plural: "leaderworkersets",
        short_names: &["lws"],
        scale: Some([
            ".spec.replicas",
            ".status.replicas",
            ".status.hpaPodSelector",
        ]),
        columns: &[
            ("Ready", "integer", ".status.readyReplicas", 0),
            ("Desired", "integer", ".spec.replicas", 0),
            ("Up-to-date", "integer", ".status.updatedReplicas", 0),
            ("Age", "date", CREATED, 0),
        ],
        ..NAMESPACED
    },
    Definition {
        group: "workload.codeflare.dev",
        version: "v1beta2",
        kind: "AppWrapper",
        plural: "appwrappers",
        short_names: &["aw"],
        columns: &[
            ("Status", "string", ".status.phase", 0),
            (
                "Quota Reserved",
                "string",
                ".status.conditions[?(@.type==\"QuotaReserved\")].status",
                0,
            ),
            (
                "Resources Deployed",
                "string",
                ".status.conditions[?(@.type==\"ResourcesDeployed\")].status",
                0,
            ),
            (
                "Unhealthy",
                "string",
                ".status.conditions[?(@.type==\"Unhealthy\")].status",
                0,
            ),
            ("Age", "date", CREATED, 0),
        ],
        ..NAMESPACED
    },
    Definition {
        group: "sparkoperator.k8s.io",
        version: "v1beta2",
        kind: "SparkApplication",
        plural: "sparkapplications",
        short_names: &["sparkapp"],
        columns: &[
            ("Suspend", "boolean", ".spec.suspend", 0),
            ("Status", "string", ".status.applicationState.state", 0),
            ("Attempts", "string", ".status.executionAttempts", 0),
            ("Start", "string", ".status.lastSubmissionAttemptTime", 0),
            ("Finish", "string", ".status.terminationTime", 0),
            ("Age", "date", CREATED, 0),
        ],
        ..NAMESPACED
    },
    Definition {
        group: "serving.kserve.io",
        version: "v1beta1",
        kind: "InferenceService",
        plural: "inferenceservices",
        short_names: &["isvc"],
        columns: &[
            ("URL", "string", ".status.url", 0),
            (
                "Ready",
                "string",
                ".status.conditions[?(@.type=='Ready')].status",
                0,
            ),
            ("Age", "date", CREATED, 0),
        ],
        ..NAMESPACED
    },
    Definition {
        kind: "Notebook",
        plural: "notebooks",
        columns: &[],
        ..KUBEFLOW
    },
    Definition {
        kind: "Task",
        plural: "tasks",
        status: false,
        ..TEKTON
    },
    Definition {
        kind: "TaskRun",
        plural: "taskruns",
        short_names: &["tr", "trs"],
        columns: RUN_COLUMNS,
        ..TEKTON
    },
    Definition {
        kind: "Pipeline",
        plural: "pipelines",
        status: false,
        ..TEKTON
    },
    Definition {
        kind: "PipelineRun",
        plural: "pipelineruns",
        short_names: &["pr", "prs"],
        columns: RUN_COLUMNS,
        ..TEKTON
    },
    Definition {
        group: "argoproj.io",
        version: "v1alpha1",
        kind: "Workflow",
        plural: "workflows",
        short_names: &["wf"],
        columns: &[
            ("Status", "string", ".status.phase", 0),
            ("Age", "date", ".status.startedAt", 0),
            ("Message", "string", ".status.message", 0),
        ],
        ..NAMESPACED
    },
    Definition {
        group: "agents.x-k8s.io",
        version: "v1alpha1",
        kind: "Sandbox",
        plural: "sandboxes",
        short_names: &["sandbox"],
        scale: Some([".spec.replicas", ".status.replicas", ".status.selector"]),
        ..NAMESPACED
    },
];

impl Definition {
    fn name(&self) -> String {
        format!("{}.{}", self.plural, self.group)
    }

    /// The CustomResourceDefinition with this schema.
    fn object(&self, schema: Value) -> Value {
        let mut names = json!({
            "kind": self.kind,
            "listKind": format!("{}List", self.kind),
            "plural": self.plural,
            "singular": self.kind.to_lowercase(),
        });
        for (field, values) in [
            ("shortNames", self.short_names),
            ("categories", self.categories),
        ] {
            if !values.is_empty() {
                names[field] = json!(values);
            }
        }
        let mut version = json!({
            "name": self.version,
            "served": true,
            "storage": true,
            "schema": {"openAPIV3Schema": schema},
        });
        if self.status {
            version["subresources"] = json!({"status": {}});
        }
        if let Some([spec, status, selector]) = self.scale {
            version["subresources"]["scale"] = json!({
                "specReplicasPath": spec,
                "statusReplicasPath": status,
                "labelSelectorPath": selector,
            });
        }
        if !self.columns.is_empty() {
            version["additionalPrinterColumns"] = self.columns.iter().map(column).collect();
        }
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": self.name()},
            "spec": {
                "group": self.group,
                "names": names,
                "scope": if self.namespaced { "Namespaced" } else { "Cluster" },
                "versions": [version],
                "conversion": {"strategy": "None"},
            },
        })
    }
}

fn column((name, type_name, path, priority): &Column) -> Value {
    let mut column = json!({"name": name, "type": type_name, "jsonPath": path});
    if *priority > 0 {
        column["priority"] = json!(priority);
    }
    column
}

/// All CustomResourceDefinitions, without schemas.
pub fn definitions() -> impl Iterator<Item = Value> {
    DEFINITIONS.iter().map(|d| d.object(json!({})))
}

/// The CustomResourceDefinition of that name, with its schema.
pub fn definition(name: &str) -> Option<Value> {
    let found = DEFINITIONS.iter().find(|d| d.name() == name)?;
    Some(found.object(schema(name)?))
}

/// The `openAPIV3Schema` of the CustomResourceDefinition of that name.
pub fn schema(name: &str) -> Option<Value> {
    schema_text::schema(name)
}
