//! Names, columns and versions of the kinds.

use super::crd::{Conversion, Crd, CrdVersion, PrinterColumn};
use crate::{provisioning_request, v1beta2};

const DEPRECATED: Option<&str> = Some("This version is deprecated. Use v1beta2 instead.");

const fn column(
    name: &'static str,
    kind: &'static str,
    path: &'static str,
    description: &'static str,
) -> PrinterColumn {
    PrinterColumn {
        name,
        kind,
        json_path: path,
        description,
        priority: 0,
    }
}

const fn wide_only(column: PrinterColumn) -> PrinterColumn {
    PrinterColumn {
        priority: 1,
        ..column
    }
}

/// v1beta1, served and converted.
const fn served_v1beta1(status: bool, columns: &'static [PrinterColumn]) -> CrdVersion {
    CrdVersion {
        name: "v1beta1",
        storage: false,
        deprecation_warning: DEPRECATED,
        status_subresource: status,
        printer_columns: columns,
        selectable_fields: &[],
    }
}

/// v1beta2, served and stored.
const fn stored_v1beta2(status: bool, columns: &'static [PrinterColumn]) -> CrdVersion {
    CrdVersion {
        name: v1beta2::VERSION,
        storage: true,
        deprecation_warning: None,
        status_subresource: status,
        printer_columns: columns,
        selectable_fields: &[],
    }
}

const AGE: &str = ".metadata.creationTimestamp";
const PENDING: PrinterColumn = column(
    "Pending Workloads",
    "integer",
    ".status.pendingWorkloads",
    "Workloads that wait for admission",
);
const ADMITTED: PrinterColumn = column(
    "Admitted Workloads",
    "integer",
    ".status.admittedWorkloads",
    "Workloads that are admitted and not finished",
);
const STRATEGY: PrinterColumn = wide_only(column(
    "Strategy",
    "string",
    ".spec.queueingStrategy",
    "In which order pending workloads are tried",
));
const LOCAL_QUEUE: &[PrinterColumn] = &[
    column(
        "ClusterQueue",
        "string",
        ".spec.clusterQueue",
        "The ClusterQueue behind this queue",
    ),
    PENDING,
    ADMITTED,
];
const WORKLOAD: &[PrinterColumn] = &[
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
const WORKLOAD_PRIORITY_CLASS: &[PrinterColumn] =
    &[column("Value", "integer", ".value", "The priority")];
const MULTI_KUEUE_CLUSTER: &[PrinterColumn] = &[
    column(
        "Connected",
        "string",
        ".status.conditions[?(@.type=='Active')].status",
        "Whether the cluster is reached",
    ),
    column("Age", "date", AGE, "When the object was created"),
];
const PROVISIONING_REQUEST: &[PrinterColumn] = &[
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

/// The common properties of Kueue's kinds.
const fn kueue_kind(kind: &'static str, plural: &'static str, singular: &'static str) -> Crd {
    Crd {
        group: v1beta2::GROUP,
        kind,
        plural,
        singular,
        short_names: &[],
        namespaced: false,
        versions: &[],
        needs_conversion: false,
    }
}

/// Every kind of the lab, by plural name.
pub const CRDS: &[Crd] = &[
    Crd {
        short_names: &["ac"],
        versions: &[served_v1beta1(true, &[]), stored_v1beta2(true, &[])],
        ..kueue_kind("AdmissionCheck", "admissionchecks", "admissioncheck")
    },
    Crd {
        short_names: &["cq"],
        needs_conversion: true,
        versions: &[
            served_v1beta1(
                true,
                &[
                    column("Cohort", "string", ".spec.cohort", "The queue's cohort"),
                    STRATEGY,
                    PENDING,
                    wide_only(ADMITTED),
                ],
            ),
            stored_v1beta2(
                true,
                &[
                    column("Cohort", "string", ".spec.cohortName", "The queue's cohort"),
                    STRATEGY,
                    PENDING,
                    wide_only(ADMITTED),
                ],
            ),
        ],
        ..kueue_kind("ClusterQueue", "clusterqueues", "clusterqueue")
    },
    Crd {
        short_names: &["co"],
        needs_conversion: true,
        versions: &[served_v1beta1(true, &[]), stored_v1beta2(true, &[])],
        ..kueue_kind("Cohort", "cohorts", "cohort")
    },
    Crd {
        short_names: &["queue", "queues", "lq"],
        namespaced: true,
        needs_conversion: true,
        versions: &[
            served_v1beta1(true, LOCAL_QUEUE),
            stored_v1beta2(true, LOCAL_QUEUE),
        ],
        ..kueue_kind("LocalQueue", "localqueues", "localqueue")
    },
    Crd {
        short_names: &["mkc"],
        needs_conversion: true,
        versions: &[
            served_v1beta1(true, MULTI_KUEUE_CLUSTER),
            stored_v1beta2(true, MULTI_KUEUE_CLUSTER),
        ],
        ..kueue_kind(
            "MultiKueueCluster",
            "multikueueclusters",
            "multikueuecluster",
        )
    },
    Crd {
        short_names: &["mkconf"],
        versions: &[
            CrdVersion {
                deprecation_warning: None,
                ..served_v1beta1(false, &[])
            },
            stored_v1beta2(false, &[]),
        ],
        ..kueue_kind("MultiKueueConfig", "multikueueconfigs", "multikueueconfig")
    },
    Crd {
        short_names: &["prc"],
        versions: &[served_v1beta1(false, &[]), stored_v1beta2(false, &[])],
        ..kueue_kind(
            "ProvisioningRequestConfig",
            "provisioningrequestconfigs",
            "provisioningrequestconfig",
        )
    },
    Crd {
        group: provisioning_request::GROUP,
        short_names: &["provreq", "provreqs"],
        namespaced: true,
        versions: &[
            CrdVersion {
                deprecation_warning: None,
                ..served_v1beta1(true, PROVISIONING_REQUEST)
            },
            CrdVersion {
                name: "v1",
                ..stored_v1beta2(true, PROVISIONING_REQUEST)
            },
        ],
        ..kueue_kind(
            "ProvisioningRequest",
            "provisioningrequests",
            "provisioningrequest",
        )
    },
    Crd {
        short_names: &["flavor", "flavors", "rf"],
        versions: &[served_v1beta1(false, &[]), stored_v1beta2(false, &[])],
        ..kueue_kind("ResourceFlavor", "resourceflavors", "resourceflavor")
    },
    Crd {
        short_names: &["topo"],
        versions: &[served_v1beta1(false, &[]), stored_v1beta2(false, &[])],
        ..kueue_kind("Topology", "topologies", "topology")
    },
    Crd {
        short_names: &["wpc"],
        versions: &[
            served_v1beta1(false, WORKLOAD_PRIORITY_CLASS),
            stored_v1beta2(false, WORKLOAD_PRIORITY_CLASS),
        ],
        ..kueue_kind(
            "WorkloadPriorityClass",
            "workloadpriorityclasses",
            "workloadpriorityclass",
        )
    },
    Crd {
        short_names: &["kwl", "kueueworkload", "kueueworkloads"],
        namespaced: true,
        needs_conversion: true,
        versions: &[
            served_v1beta1(true, WORKLOAD),
            CrdVersion {
                selectable_fields: &[".status.admission.clusterQueue"],
                ..stored_v1beta2(true, WORKLOAD)
            },
        ],
        ..kueue_kind("Workload", "workloads", "workload")
    },
];

/// The definition of a kind of the lab.
pub fn by_kind(group: &str, kind: &str) -> Option<&'static Crd> {
    CRDS.iter().find(|c| c.group == group && c.kind == kind)
}

/// All definitions as one YAML stream, as `kueue-lab crds` prints it.
///
/// # Errors
/// The embedded text is malformed.
pub fn all_yaml(conversion: &Conversion) -> Result<String, serde_yaml::Error> {
    let mut yaml = String::new();
    for crd in CRDS {
        yaml.push_str("---\n");
        yaml.push_str(&serde_yaml::to_string(&crd.object(conversion))?);
    }
    Ok(yaml)
}
