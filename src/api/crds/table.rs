//! Names, columns and versions of the kinds.

use super::{Column, Crd, Version};
use crate::{provisioning, v1beta2};

const DEPRECATED: Option<&str> = Some("This version is deprecated. Use v1beta2 instead.");

const fn column(
    name: &'static str,
    kind: &'static str,
    path: &'static str,
    description: &'static str,
) -> Column {
    Column {
        name,
        kind,
        path,
        description,
        priority: 0,
    }
}

const fn wide(column: Column) -> Column {
    Column {
        priority: 1,
        ..column
    }
}

/// v1beta1, served and converted.
const fn old(status: bool, columns: &'static [Column]) -> Version {
    Version {
        name: "v1beta1",
        storage: false,
        deprecation: DEPRECATED,
        status,
        columns,
        selectable: &[],
    }
}

/// v1beta2, served and stored.
const fn hub(status: bool, columns: &'static [Column]) -> Version {
    Version {
        name: v1beta2::VERSION,
        storage: true,
        deprecation: None,
        status,
        columns,
        selectable: &[],
    }
}

const AGE: &str = ".metadata.creationTimestamp";
const PENDING: Column = column(
    "Pending Workloads",
    "integer",
    ".status.pendingWorkloads",
    "Workloads that wait for admission",
);
const ADMITTED: Column = column(
    "Admitted Workloads",
    "integer",
    ".status.admittedWorkloads",
    "Workloads that are admitted and not finished",
);
const STRATEGY: Column = wide(column(
    "Strategy",
    "string",
    ".spec.queueingStrategy",
    "In which order pending workloads are tried",
));
const LOCAL_QUEUE: &[Column] = &[
    column(
        "ClusterQueue",
        "string",
        ".spec.clusterQueue",
        "The ClusterQueue behind this queue",
    ),
    PENDING,
    ADMITTED,
];
const WORKLOAD: &[Column] = &[
    column(
        "Queue",
        "string",
        ".spec.queueName",
        "The LocalQueue the workload was submitted to",
    ),
    column(
        "Reserved in",
        "string",
        ".status.admission.clusterQueue",
        "The ClusterQueue whose quota is reserved",
    ),
    column(
        "Admitted",
        "string",
        ".status.conditions[?(@.type=='Admitted')].status",
        "Whether the workload is admitted",
    ),
    column(
        "Finished",
        "string",
        ".status.conditions[?(@.type=='Finished')].status",
        "Whether the workload is finished",
    ),
    column("Age", "date", AGE, "When the workload was created"),
];
const CLASS: &[Column] = &[column("Value", "integer", ".value", "The priority")];
const CLUSTER: &[Column] = &[
    column(
        "Connected",
        "string",
        ".status.conditions[?(@.type=='Active')].status",
        "Whether the cluster is reached",
    ),
    column("Age", "date", AGE, "When the object was created"),
];
const REQUEST: &[Column] = &[
    column(
        "Accepted",
        "string",
        ".status.conditions[?(@.type=='Accepted')].status",
        "Whether the autoscaler took up the request",
    ),
    column(
        "Provisioned",
        "string",
        ".status.conditions[?(@.type=='Provisioned')].status",
        "Whether the capacity is there",
    ),
    column(
        "Failed",
        "string",
        ".status.conditions[?(@.type=='Failed')].status",
        "Whether the capacity cannot be had",
    ),
    column("Age", "date", AGE, "When the request was made"),
];

/// What is common to the kinds of Kueue.
const fn kueue(kind: &'static str, plural: &'static str, singular: &'static str) -> Crd {
    Crd {
        group: v1beta2::GROUP,
        kind,
        plural,
        singular,
        short_names: &[],
        namespaced: false,
        versions: &[],
        converts: false,
    }
}

/// Every kind the lab owns, by plural name.
pub const CRDS: &[Crd] = &[
    Crd {
        short_names: &["ac"],
        versions: &[old(true, &[]), hub(true, &[])],
        ..kueue("AdmissionCheck", "admissionchecks", "admissioncheck")
    },
    Crd {
        short_names: &["cq"],
        converts: true,
        versions: &[
            old(
                true,
                &[
                    column("Cohort", "string", ".spec.cohort", "The queue's cohort"),
                    STRATEGY,
                    PENDING,
                    wide(ADMITTED),
                ],
            ),
            hub(
                true,
                &[
                    column("Cohort", "string", ".spec.cohortName", "The queue's cohort"),
                    STRATEGY,
                    PENDING,
                    wide(ADMITTED),
                ],
            ),
        ],
        ..kueue("ClusterQueue", "clusterqueues", "clusterqueue")
    },
    Crd {
        short_names: &["co"],
        converts: true,
        versions: &[old(true, &[]), hub(true, &[])],
        ..kueue("Cohort", "cohorts", "cohort")
    },
    Crd {
        short_names: &["queue", "queues", "lq"],
        namespaced: true,
        converts: true,
        versions: &[old(true, LOCAL_QUEUE), hub(true, LOCAL_QUEUE)],
        ..kueue("LocalQueue", "localqueues", "localqueue")
    },
    Crd {
        short_names: &["mkc"],
        converts: true,
        versions: &[old(true, CLUSTER), hub(true, CLUSTER)],
        ..kueue(
            "MultiKueueCluster",
            "multikueueclusters",
            "multikueuecluster",
        )
    },
    Crd {
        short_names: &["mkconf"],
        versions: &[
            Version {
                deprecation: None,
                ..old(false, &[])
            },
            hub(false, &[]),
        ],
        ..kueue("MultiKueueConfig", "multikueueconfigs", "multikueueconfig")
    },
    Crd {
        short_names: &["prc"],
        versions: &[old(false, &[]), hub(false, &[])],
        ..kueue(
            "ProvisioningRequestConfig",
            "provisioningrequestconfigs",
            "provisioningrequestconfig",
        )
    },
    Crd {
        group: provisioning::GROUP,
        short_names: &["provreq", "provreqs"],
        namespaced: true,
        versions: &[
            Version {
                deprecation: None,
                ..old(true, REQUEST)
            },
            Version {
                name: "v1",
                ..hub(true, REQUEST)
            },
        ],
        ..kueue(
            "ProvisioningRequest",
            "provisioningrequests",
            "provisioningrequest",
        )
    },
    Crd {
        short_names: &["flavor", "flavors", "rf"],
        versions: &[old(false, &[]), hub(false, &[])],
        ..kueue("ResourceFlavor", "resourceflavors", "resourceflavor")
    },
    Crd {
        short_names: &["topo"],
        versions: &[old(false, &[]), hub(false, &[])],
        ..kueue("Topology", "topologies", "topology")
    },
    Crd {
        short_names: &["wpc"],
        versions: &[old(false, CLASS), hub(false, CLASS)],
        ..kueue(
            "WorkloadPriorityClass",
            "workloadpriorityclasses",
            "workloadpriorityclass",
        )
    },
    Crd {
        short_names: &["kwl", "kueueworkload", "kueueworkloads"],
        namespaced: true,
        converts: true,
        versions: &[
            old(true, WORKLOAD),
            Version {
                selectable: &[".status.admission.clusterQueue"],
                ..hub(true, WORKLOAD)
            },
        ],
        ..kueue("Workload", "workloads", "workload")
    },
];
