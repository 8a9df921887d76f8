//! Kinds and names of objects.

use std::fmt;

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
}

impl Kind {
    /// All kinds; kinds that others refer to come first.
    pub const ALL: [Kind; 9] = [
        Kind::ResourceFlavor,
        Kind::WorkloadPriorityClass,
        Kind::Cohort,
        Kind::ClusterQueue,
        Kind::LocalQueue,
        Kind::Node,
        Kind::Workload,
        Kind::Pod,
        Kind::Event,
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
        }
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
        }
    }

    /// The watched group and version.
    pub fn api_version(self) -> &'static str {
        match self {
            Kind::Node | Kind::Pod | Kind::Event => "v1",
            _ => kueue_lab_api::v1beta2::API_VERSION,
        }
    }

    /// Whether the kind is namespaced.
    pub fn namespaced(self) -> bool {
        matches!(
            self,
            Kind::Workload | Kind::LocalQueue | Kind::Pod | Kind::Event
        )
    }
}

/// Namespace and name of an object; the namespace is empty for cluster-scoped kinds.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamespacedName {
    /// The namespace; empty for cluster-scoped kinds.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl NamespacedName {
    /// The name of a namespaced object.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// The name of a cluster-scoped object.
    pub fn cluster_scoped(name: impl Into<String>) -> Self {
        Self::new("", name)
    }
}

impl fmt::Display for NamespacedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            f.write_str(&self.name)
        } else {
            write!(f, "{}/{}", self.namespace, self.name)
        }
    }
}
