//! Resources of the core group and of the workload groups.

use super::api_resource_row::{
    API_EXTENSIONS, ApiResourceRow, CREATE, PARENT_KIND, PROXY, READ_WRITE, SCALE, STATUS, STREAM,
    row,
};

const ALL: &[&str] = &["all"];

/// Resources of the core group.
pub(super) const CORE_RESOURCES: &[ApiResourceRow] = &[
    row("", "v1", "Binding", "bindings").namespaced().review(),
    row("", "v1", "ComponentStatus", "componentstatuses")
        .short(&["cs"])
        .verbs(&["get", "list"])
        .storage_version("", ""),
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
        .subresources(&[("finalize", PARENT_KIND, &["update"]), STATUS]),
    row("", "v1", "Node", "nodes")
        .short(&["no"])
        .subresources(&[("proxy", ("", "", "NodeProxyOptions"), PROXY), STATUS]),
    row("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")
        .namespaced()
        .short(&["pvc"])
        .subresources(&[STATUS]),
    row("", "v1", "PersistentVolume", "persistentvolumes")
        .short(&["pv"])
        .subresources(&[STATUS]),
    row("", "v1", "Pod", "pods")
        .namespaced()
        .short(&["po"])
        .category(ALL)
        .subresources(&[
            ("attach", ("", "", "PodAttachOptions"), STREAM),
            ("binding", ("", "", "Binding"), CREATE),
            ("ephemeralcontainers", PARENT_KIND, READ_WRITE),
            ("eviction", ("policy", "v1", "Eviction"), CREATE),
            ("exec", ("", "", "PodExecOptions"), STREAM),
            ("log", PARENT_KIND, &["get"]),
            ("portforward", ("", "", "PodPortForwardOptions"), STREAM),
            ("proxy", ("", "", "PodProxyOptions"), PROXY),
            ("resize", PARENT_KIND, READ_WRITE),
            STATUS,
        ]),
    row("", "v1", "PodTemplate", "podtemplates").namespaced(),
    row("", "v1", "ReplicationController", "replicationcontrollers")
        .namespaced()
        .short(&["rc"])
        .category(ALL)
        .subresources(&[SCALE, STATUS]),
    row("", "v1", "ResourceQuota", "resourcequotas")
        .namespaced()
        .short(&["quota"])
        .subresources(&[STATUS]),
    row("", "v1", "Secret", "secrets").namespaced(),
    row("", "v1", "ServiceAccount", "serviceaccounts")
        .namespaced()
        .short(&["sa"])
        .subresources(&[(
            "token",
            ("authentication.k8s.io", "v1", "TokenRequest"),
            CREATE,
        )]),
    row("", "v1", "Service", "services")
        .namespaced()
        .short(&["svc"])
        .category(ALL)
        .subresources(&[("proxy", ("", "", "ServiceProxyOptions"), PROXY), STATUS]),
];

/// Resources of the workload groups.
pub(super) const WORKLOAD_RESOURCES: &[ApiResourceRow] = &[
    row("apiregistration.k8s.io", "v1", "APIService", "apiservices")
        .category(API_EXTENSIONS)
        .subresources(&[STATUS]),
    row("apps", "v1", "ControllerRevision", "controllerrevisions").namespaced(),
    row("apps", "v1", "DaemonSet", "daemonsets")
        .namespaced()
        .short(&["ds"])
        .category(ALL)
        .subresources(&[STATUS]),
    row("apps", "v1", "Deployment", "deployments")
        .namespaced()
        .short(&["deploy"])
        .category(ALL)
        .subresources(&[SCALE, STATUS]),
    row("apps", "v1", "ReplicaSet", "replicasets")
        .namespaced()
        .short(&["rs"])
        .category(ALL)
        .subresources(&[SCALE, STATUS]),
    row("apps", "v1", "StatefulSet", "statefulsets")
        .namespaced()
        .short(&["sts"])
        .category(ALL)
        .subresources(&[SCALE, STATUS]),
    row("events.k8s.io", "v1", "Event", "events")
        .namespaced()
        .short(&["ev"])
        .storage_version("", "v1"),
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
    .subresources(&[STATUS]),
    row(
        "autoscaling",
        "v1",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
    )
    .namespaced()
    .short(&["hpa"])
    .category(ALL)
    .subresources(&[STATUS])
    .storage_version("autoscaling", "v2"),
    row("batch", "v1", "CronJob", "cronjobs")
        .namespaced()
        .short(&["cj"])
        .category(ALL)
        .subresources(&[STATUS]),
    row("batch", "v1", "Job", "jobs")
        .namespaced()
        .category(ALL)
        .subresources(&[STATUS]),
    row(
        "certificates.k8s.io",
        "v1",
        "CertificateSigningRequest",
        "certificatesigningrequests",
    )
    .short(&["csr"])
    .subresources(&[("approval", PARENT_KIND, READ_WRITE), STATUS]),
];
