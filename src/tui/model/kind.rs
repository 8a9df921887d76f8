//! [`Kind`]: the kinds the UI watches.

/// The kinds the UI watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// kueue.x-k8s.io Workload.
    Workload,
    /// kueue.x-k8s.io ClusterQueue.
    ClusterQueue,
    /// kueue.x-k8s.io LocalQueue.
    LocalQueue,
    /// kueue.x-k8s.io Cohort.
    Cohort,
    /// kueue.x-k8s.io ResourceFlavor.
    ResourceFlavor,
    /// kueue.x-k8s.io WorkloadPriorityClass.
    WorkloadPriorityClass,
    /// core Node.
    Node,
    /// core Pod.
    Pod,
    /// core Event.
    Event,
    /// skypilot.kueue-lab.dev ManagedJob, of an embedded cluster.
    ManagedJob,
}

impl Kind {
    /// All kinds; kinds that others refer to come first.
    pub const ALL: [Kind; 10] = [
        Kind::ResourceFlavor,
        Kind::WorkloadPriorityClass,
        Kind::Cohort,
        Kind::ClusterQueue,
        Kind::LocalQueue,
        Kind::Node,
        Kind::Workload,
        Kind::Pod,
        Kind::Event,
        Kind::ManagedJob,
    ];

    /// The kind in manifests.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Workload => "Workload",
            Kind::ClusterQueue => "ClusterQueue",
            Kind::LocalQueue => "LocalQueue",
            Kind::Cohort => "Cohort",
            Kind::ResourceFlavor => "ResourceFlavor",
            Kind::WorkloadPriorityClass => "WorkloadPriorityClass",
            Kind::Node => "Node",
            Kind::Pod => "Pod",
            Kind::Event => "Event",
            Kind::ManagedJob => "ManagedJob",
        }
    }

    /// Whether a cluster may lack the kind: an old Kueue has no Cohorts, and only an embedded cluster has
    /// managed jobs.
    pub(crate) fn is_optional(self) -> bool {
        matches!(self, Kind::Cohort | Kind::ManagedJob)
    }

    /// The resource name in URLs.
    pub fn plural(self) -> &'static str {
        match self {
            Kind::Workload => "workloads",
            Kind::ClusterQueue => "clusterqueues",
            Kind::LocalQueue => "localqueues",
            Kind::Cohort => "cohorts",
            Kind::ResourceFlavor => "resourceflavors",
            Kind::WorkloadPriorityClass => "workloadpriorityclasses",
            Kind::Node => "nodes",
            Kind::Pod => "pods",
            Kind::Event => "events",
            Kind::ManagedJob => "managedjobs",
        }
    }

    /// The watched group and version.
    pub fn api_version(self) -> &'static str {
        match self {
            Kind::Node | Kind::Pod | Kind::Event => "v1",
            Kind::ManagedJob => "skypilot.kueue-lab.dev/v1alpha1",
            _ => kueue_lab_api::v1beta2::API_VERSION,
        }
    }
}
