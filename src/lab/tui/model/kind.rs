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
    /// resource.k8s.io ResourceSlice.
    ResourceSlice,
    /// resource.k8s.io ResourceClaim.
    ResourceClaim,
}

impl Kind {
    /// All kinds; kinds that others refer to come first.
    pub const ALL: [Kind; 12] = [
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
        Kind::ResourceSlice,
        Kind::ResourceClaim,
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
            Kind::ResourceSlice => "ResourceSlice",
            Kind::ResourceClaim => "ResourceClaim",
        }
    }

    /// Whether a cluster may lack the kind: an old Kueue has no Cohorts, an old Kubernetes no dynamic
    /// resource allocation, and only an embedded cluster has managed jobs.
    pub(crate) fn is_optional(self) -> bool {
        self == Kind::Cohort || self.may_be_forbidden()
    }

    /// Whether a role for Kueue may lack the permission to watch the kind.
    pub(crate) fn may_be_forbidden(self) -> bool {
        matches!(
            self,
            Kind::ManagedJob | Kind::ResourceSlice | Kind::ResourceClaim
        )
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
            Kind::ResourceSlice => "resourceslices",
            Kind::ResourceClaim => "resourceclaims",
        }
    }

    /// The watched group and version.
    pub fn api_version(self) -> &'static str {
        match self {
            Kind::Node | Kind::Pod | Kind::Event => "v1",
            Kind::ManagedJob => "skypilot.kueue-lab.dev/v1alpha1",
            Kind::ResourceSlice | Kind::ResourceClaim => "resource.k8s.io/v1",
            _ => kueue_lab_api::v1beta2::API_VERSION,
        }
    }
}
