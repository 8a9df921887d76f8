//! The table of built-in kinds: groups, versions, resource names, verbs, subresources, as discovery
//! of a v1.36 API server lists them with the default API groups enabled.

use crate::apiserver::kind::{Kind, Subresource, storage_version_hash};

use super::behaviour_of;

const STORED: &[&str] = &[
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];
const READ_WRITE: &[&str] = &["get", "patch", "update"];
const PROXY: &[&str] = &["create", "delete", "get", "patch", "update"];
const CREATE: &[&str] = &["create"];
const STREAM: &[&str] = &["create", "get"];

/// A subresource: name, (group, version, kind) where it does not speak the parent kind, verbs.
type Sub = (
    &'static str,
    (&'static str, &'static str, &'static str),
    &'static [&'static str],
);

const PARENT: (&str, &str, &str) = ("", "", "");
const STATUS: Sub = ("status", PARENT, READ_WRITE);
const SCALE: Sub = ("scale", ("autoscaling", "v1", "Scale"), READ_WRITE);

/// One row of the table.
struct Row {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
    short: &'static [&'static str],
    categories: &'static [&'static str],
    namespaced: bool,
    verbs: &'static [&'static str],
    subs: &'static [Sub],
    stored_as: Option<(&'static str, &'static str)>,
}

impl Row {
    const fn namespaced(mut self) -> Self {
        self.namespaced = true;
        self
    }

    const fn short(mut self, names: &'static [&'static str]) -> Self {
        self.short = names;
        self
    }

    const fn category(mut self, names: &'static [&'static str]) -> Self {
        self.categories = names;
        self
    }

    const fn verbs(mut self, verbs: &'static [&'static str]) -> Self {
        self.verbs = verbs;
        self
    }

    const fn subs(mut self, subs: &'static [Sub]) -> Self {
        self.subs = subs;
        self
    }

    const fn stored_as(mut self, group: &'static str, version: &'static str) -> Self {
        self.stored_as = Some((group, version));
        self
    }

    /// A kind that is only ever an answer to a create.
    const fn review(mut self) -> Self {
        self.verbs = CREATE;
        self.stored_as = Some(("", ""));
        self
    }
}

const fn row(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
) -> Row {
    Row {
        group,
        version,
        kind,
        plural,
        short: &[],
        categories: &[],
        namespaced: false,
        verbs: STORED,
        subs: &[],
        stored_as: None,
    }
}

const ALL: &[&str] = &["all"];
const API_EXTENSIONS: &[&str] = &["api-extensions"];

const CORE: &[Row] = &[
    row("", "v1", "Binding", "bindings").namespaced().review(),
    row("", "v1", "ComponentStatus", "componentstatuses")
        .short(&["cs"])
        .verbs(&["get", "list"])
        .stored_as("", ""),
    row("", "v1", "ConfigMap", "configmaps")
        .namespaced()
        .short(&["cm"]),
    row("", "v1", "Endpoints", "endpoints")
        .namespaced()
        .short(&["ep"]),
    row("", "v1", "Event", "events").namespaced().short(&["ev"]),
    row("", "v1", "LimitRange", "limitranges")
        .namespaced()
        .short(&["limits"]),
    row("", "v1", "Namespace", "namespaces")
        .short(&["ns"])
        .verbs(&[
            "create", "delete", "get", "list", "patch", "update", "watch",
        ])
        .subs(&[("finalize", PARENT, &["update"]), STATUS]),
    row("", "v1", "Node", "nodes")
        .short(&["no"])
        .subs(&[("proxy", ("", "", "NodeProxyOptions"), PROXY), STATUS]),
    row("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")
        .namespaced()
        .short(&["pvc"])
        .subs(&[STATUS]),
    row("", "v1", "PersistentVolume", "persistentvolumes")
        .short(&["pv"])
        .subs(&[STATUS]),
    row("", "v1", "Pod", "pods")
        .namespaced()
        .short(&["po"])
        .category(ALL)
        .subs(&[
            ("attach", ("", "", "PodAttachOptions"), STREAM),
            ("binding", ("", "", "Binding"), CREATE),
            ("ephemeralcontainers", PARENT, READ_WRITE),
            ("eviction", ("policy", "v1", "Eviction"), CREATE),
            ("exec", ("", "", "PodExecOptions"), STREAM),
            ("log", PARENT, &["get"]),
            ("portforward", ("", "", "PodPortForwardOptions"), STREAM),
            ("proxy", ("", "", "PodProxyOptions"), PROXY),
            ("resize", PARENT, READ_WRITE),
            STATUS,
        ]),
    row("", "v1", "PodTemplate", "podtemplates").namespaced(),
    row("", "v1", "ReplicationController", "replicationcontrollers")
        .namespaced()
        .short(&["rc"])
        .category(ALL)
        .subs(&[SCALE, STATUS]),
    row("", "v1", "ResourceQuota", "resourcequotas")
        .namespaced()
        .short(&["quota"])
        .subs(&[STATUS]),
    row("", "v1", "Secret", "secrets").namespaced(),
    row("", "v1", "ServiceAccount", "serviceaccounts")
        .namespaced()
        .short(&["sa"])
        .subs(&[(
            "token",
            ("authentication.k8s.io", "v1", "TokenRequest"),
            CREATE,
        )]),
    row("", "v1", "Service", "services")
        .namespaced()
        .short(&["svc"])
        .category(ALL)
        .subs(&[("proxy", ("", "", "ServiceProxyOptions"), PROXY), STATUS]),
];

const WORKLOADS: &[Row] = &[
    row("apiregistration.k8s.io", "v1", "APIService", "apiservices")
        .category(API_EXTENSIONS)
        .subs(&[STATUS]),
    row("apps", "v1", "ControllerRevision", "controllerrevisions").namespaced(),
    row("apps", "v1", "DaemonSet", "daemonsets")
        .namespaced()
        .short(&["ds"])
        .category(ALL)
        .subs(&[STATUS]),
    row("apps", "v1", "Deployment", "deployments")
        .namespaced()
        .short(&["deploy"])
        .category(ALL)
        .subs(&[SCALE, STATUS]),
    row("apps", "v1", "ReplicaSet", "replicasets")
        .namespaced()
        .short(&["rs"])
        .category(ALL)
        .subs(&[SCALE, STATUS]),
    row("apps", "v1", "StatefulSet", "statefulsets")
        .namespaced()
        .short(&["sts"])
        .category(ALL)
        .subs(&[SCALE, STATUS]),
    row("events.k8s.io", "v1", "Event", "events")
        .namespaced()
        .short(&["ev"])
        .stored_as("", "v1"),
    row(
        "authentication.k8s.io",
        "v1",
        "SelfSubjectReview",
        "selfsubjectreviews",
    )
    .review(),
    row("authentication.k8s.io", "v1", "TokenReview", "tokenreviews").review(),
    row(
        "authorization.k8s.io",
        "v1",
        "LocalSubjectAccessReview",
        "localsubjectaccessreviews",
    )
    .namespaced()
    .review(),
    row(
        "authorization.k8s.io",
        "v1",
        "SelfSubjectAccessReview",
        "selfsubjectaccessreviews",
    )
    .review(),
    row(
        "authorization.k8s.io",
        "v1",
        "SelfSubjectRulesReview",
        "selfsubjectrulesreviews",
    )
    .review(),
    row(
        "authorization.k8s.io",
        "v1",
        "SubjectAccessReview",
        "subjectaccessreviews",
    )
    .review(),
    row(
        "autoscaling",
        "v2",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
    )
    .namespaced()
    .short(&["hpa"])
    .category(ALL)
    .subs(&[STATUS]),
    row(
        "autoscaling",
        "v1",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
    )
    .namespaced()
    .short(&["hpa"])
    .category(ALL)
    .subs(&[STATUS])
    .stored_as("autoscaling", "v2"),
    row("batch", "v1", "CronJob", "cronjobs")
        .namespaced()
        .short(&["cj"])
        .category(ALL)
        .subs(&[STATUS]),
    row("batch", "v1", "Job", "jobs")
        .namespaced()
        .category(ALL)
        .subs(&[STATUS]),
    row(
        "certificates.k8s.io",
        "v1",
        "CertificateSigningRequest",
        "certificatesigningrequests",
    )
    .short(&["csr"])
    .subs(&[("approval", PARENT, READ_WRITE), STATUS]),
];

const CLUSTER: &[Row] = &[
    row("networking.k8s.io", "v1", "IngressClass", "ingressclasses"),
    row("networking.k8s.io", "v1", "Ingress", "ingresses")
        .namespaced()
        .short(&["ing"])
        .subs(&[STATUS]),
    row("networking.k8s.io", "v1", "IPAddress", "ipaddresses").short(&["ip"]),
    row(
        "networking.k8s.io",
        "v1",
        "NetworkPolicy",
        "networkpolicies",
    )
    .namespaced()
    .short(&["netpol"]),
    row("networking.k8s.io", "v1", "ServiceCIDR", "servicecidrs").subs(&[STATUS]),
    row(
        "policy",
        "v1",
        "PodDisruptionBudget",
        "poddisruptionbudgets",
    )
    .namespaced()
    .short(&["pdb"])
    .subs(&[STATUS]),
    row(
        "rbac.authorization.k8s.io",
        "v1",
        "ClusterRoleBinding",
        "clusterrolebindings",
    ),
    row(
        "rbac.authorization.k8s.io",
        "v1",
        "ClusterRole",
        "clusterroles",
    ),
    row(
        "rbac.authorization.k8s.io",
        "v1",
        "RoleBinding",
        "rolebindings",
    )
    .namespaced(),
    row("rbac.authorization.k8s.io", "v1", "Role", "roles").namespaced(),
    row("storage.k8s.io", "v1", "CSIDriver", "csidrivers"),
    row("storage.k8s.io", "v1", "CSINode", "csinodes"),
    row(
        "storage.k8s.io",
        "v1",
        "CSIStorageCapacity",
        "csistoragecapacities",
    )
    .namespaced(),
    row("storage.k8s.io", "v1", "StorageClass", "storageclasses").short(&["sc"]),
    row(
        "storage.k8s.io",
        "v1",
        "VolumeAttachment",
        "volumeattachments",
    )
    .subs(&[STATUS]),
    row(
        "storage.k8s.io",
        "v1",
        "VolumeAttributesClass",
        "volumeattributesclasses",
    )
    .short(&["vac"]),
    row(
        "admissionregistration.k8s.io",
        "v1",
        "MutatingAdmissionPolicy",
        "mutatingadmissionpolicies",
    )
    .category(API_EXTENSIONS)
    .stored_as("admissionregistration.k8s.io", "v1beta1"),
    row(
        "admissionregistration.k8s.io",
        "v1",
        "MutatingAdmissionPolicyBinding",
        "mutatingadmissionpolicybindings",
    )
    .category(API_EXTENSIONS)
    .stored_as("admissionregistration.k8s.io", "v1beta1"),
    row(
        "admissionregistration.k8s.io",
        "v1",
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
    )
    .category(API_EXTENSIONS),
    row(
        "admissionregistration.k8s.io",
        "v1",
        "ValidatingAdmissionPolicy",
        "validatingadmissionpolicies",
    )
    .category(API_EXTENSIONS)
    .subs(&[STATUS]),
    row(
        "admissionregistration.k8s.io",
        "v1",
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
    )
    .category(API_EXTENSIONS),
    row(
        "admissionregistration.k8s.io",
        "v1",
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
    )
    .category(API_EXTENSIONS),
    row(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
    )
    .short(&["crd", "crds"])
    .category(API_EXTENSIONS)
    .subs(&[STATUS])
    .stored_as("apiextensions.k8s.io", "v1beta1"),
    row(
        "scheduling.k8s.io",
        "v1",
        "PriorityClass",
        "priorityclasses",
    )
    .short(&["pc"]),
    row("coordination.k8s.io", "v1", "Lease", "leases").namespaced(),
    row("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses"),
    row("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices").namespaced(),
    row("resource.k8s.io", "v1", "DeviceClass", "deviceclasses"),
    row("resource.k8s.io", "v1", "ResourceClaim", "resourceclaims")
        .namespaced()
        .subs(&[STATUS]),
    row(
        "resource.k8s.io",
        "v1",
        "ResourceClaimTemplate",
        "resourceclaimtemplates",
    )
    .namespaced(),
    row("resource.k8s.io", "v1", "ResourceSlice", "resourceslices"),
    row(
        "flowcontrol.apiserver.k8s.io",
        "v1",
        "FlowSchema",
        "flowschemas",
    )
    .subs(&[STATUS]),
    row(
        "flowcontrol.apiserver.k8s.io",
        "v1",
        "PriorityLevelConfiguration",
        "prioritylevelconfigurations",
    )
    .subs(&[STATUS]),
];

/// Every built-in kind in every served version. Groups come in the order in which `/apis` lists
/// them, the versions of a group with the preferred one first, resources in the order of discovery.
pub fn builtin() -> Vec<Kind> {
    CORE.iter()
        .chain(WORKLOADS)
        .chain(CLUSTER)
        .map(kind)
        .collect()
}

fn kind(row: &Row) -> Kind {
    let stored = row.stored_as.unwrap_or((row.group, row.version));
    let hash = match stored {
        ("", "") => String::new(),
        (group, version) => storage_version_hash(group, version, row.kind),
    };
    // Where the hash speaks of a version that is not served, objects here live in the served one.
    let storage_version = if stored.1.is_empty() || stored.1.contains("beta") {
        row.version
    } else {
        stored.1
    };
    let storage_group = if stored.1.is_empty() {
        row.group
    } else {
        stored.0
    };
    Kind {
        group: row.group.into(),
        version: row.version.into(),
        kind: row.kind.into(),
        list_kind: format!("{}List", row.kind).into(),
        plural: row.plural.into(),
        singular: row.kind.to_lowercase().into(),
        short_names: row.short.iter().map(ToString::to_string).collect(),
        categories: row.categories.iter().map(ToString::to_string).collect(),
        namespaced: row.namespaced,
        verbs: row.verbs.to_vec(),
        subresources: row.subs.iter().map(|sub| subresource(row, sub)).collect(),
        storage_group: storage_group.into(),
        storage_version: storage_version.into(),
        storage_version_hash: hash,
        schema: None,
        behaviour: behaviour_of(row.group, row.version, row.kind, row.namespaced),
    }
}

fn subresource(row: &Row, &(name, (group, version, kind), verbs): &Sub) -> Subresource {
    let kind = if kind.is_empty() { row.kind } else { kind };
    Subresource {
        name,
        group: group.into(),
        version: version.into(),
        kind: kind.into(),
        verbs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(group: &str, kind: &str) -> Kind {
        let all = builtin();
        all.into_iter()
            .find(|k| &*k.group == group && &*k.kind == kind)
            .expect("a built-in kind")
    }

    #[test]
    fn storage_version_hashes_are_those_of_kubernetes() {
        for (group, kind, hash) in [
            ("", "ConfigMap", "qFsyl6wFWjQ="),
            ("", "Pod", "xPOwRZ+Yhw8="),
            ("events.k8s.io", "Event", "r2yiGXH7wu8="),
            ("autoscaling", "HorizontalPodAutoscaler", "qwQve8ut294="),
            (
                "apiextensions.k8s.io",
                "CustomResourceDefinition",
                "jfWCUB31mvA=",
            ),
            ("", "Binding", ""),
        ] {
            assert_eq!(
                find(group, kind).storage_version_hash,
                hash,
                "{group}/{kind}"
            );
        }
    }

    #[test]
    fn events_of_both_groups_are_one_store() {
        let event = find("events.k8s.io", "Event");
        assert_eq!((&*event.storage_group, &*event.storage_version), ("", "v1"));
        let crd = find("apiextensions.k8s.io", "CustomResourceDefinition");
        assert_eq!(
            (&*crd.storage_group, &*crd.storage_version),
            ("apiextensions.k8s.io", "v1")
        );
    }

    #[test]
    fn names_are_unique_within_a_group_version() {
        let mut seen = std::collections::BTreeSet::new();
        for kind in builtin() {
            assert!(seen.insert((
                kind.group.clone(),
                kind.version.clone(),
                kind.plural.clone()
            )));
            let mut names: Vec<_> = kind.subresources.iter().map(|s| s.name).collect();
            names.sort_unstable();
            let given: Vec<_> = kind.subresources.iter().map(|s| s.name).collect();
            assert_eq!(names, given, "{kind:?}: subresources are in order");
        }
    }
}
