//! The operators: kinds, labels of their pods, and the functions that reconcile them.

use kube::core::ApiResource;

use super::observed::Observed;
use super::plan::Plan;
use super::{job_set, ray};

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
    /// The component that its Events come from.
    pub component: &'static str,
    /// Reconciles an object.
    pub reconcile: fn(&Observed<'_>) -> Plan,
}

impl Operator {
    /// The resource of the kind.
    pub(super) fn resource(&self) -> ApiResource {
        resource(self.group, self.version, self.kind, self.plural)
    }

    /// `apiVersion` of the kind.
    pub(super) fn api_version(&self) -> String {
        format!("{}/{}", self.group, self.version)
    }
}

/// A resource of a group.
pub(super) fn resource(group: &str, version: &str, kind: &str, plural: &str) -> ApiResource {
    let api_version = match group {
        "" => version.to_owned(),
        group => format!("{group}/{version}"),
    };
    ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version,
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    }
}

const RAY: Operator = Operator {
    group: "ray.io",
    version: "v1",
    kind: "",
    plural: "",
    label: None,
    component: "kuberay-operator",
    reconcile: |_| Plan::default(),
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
        component: "jobset",
        reconcile: job_set::reconcile,
        ..RAY
    },
];

/// Group, version, kind, plural and required label of the other kinds that are watched.
pub(super) const WATCHED: &[(&str, &str, &str, &str, Option<&str>)] = &[];
