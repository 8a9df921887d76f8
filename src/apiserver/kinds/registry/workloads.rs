//! Core, and the groups of workloads.

use super::row::{
    API_EXTENSIONS, CREATE, PARENT, PROXY, READ_WRITE, Row, SCALE, STATUS, STREAM, row,
};

const ALL: &[&str] = &["all"];

/// Core.
pub(super) const CORE: &[Row] = &[
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

/// Workloads and what goes with them.
pub(super) const WORKLOADS: &[Row] = &[
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
