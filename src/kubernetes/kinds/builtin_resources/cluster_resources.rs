//! Resources of the networking, storage, RBAC and remaining API groups.

use super::api_resource_row::{API_EXTENSIONS, ApiResourceRow, STATUS, row};

/// Resources of all API groups except the core and workload groups.
pub(super) const CLUSTER_RESOURCES: &[ApiResourceRow] = &[
    row("networking.k8s.io", "v1", "IngressClass", "ingressclasses"),
    row("networking.k8s.io", "v1", "Ingress", "ingresses")
        .namespaced()
        .short(&["ing"])
        .subresources(&[STATUS]),
    row("networking.k8s.io", "v1", "IPAddress", "ipaddresses").short(&["ip"]),
    row(
        "networking.k8s.io",
        "v1",
        "NetworkPolicy",
        "networkpolicies",
    )
    .namespaced()
    .short(&["netpol"]),
    row("networking.k8s.io", "v1", "ServiceCIDR", "servicecidrs").subresources(&[STATUS]),
    row(
        "policy",
        "v1",
        "PodDisruptionBudget",
        "poddisruptionbudgets",
    )
    .namespaced()
    .short(&["pdb"])
    .subresources(&[STATUS]),
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
    .subresources(&[STATUS]),
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
    .storage_version("admissionregistration.k8s.io", "v1beta1"),
    row(
        "admissionregistration.k8s.io",
        "v1",
        "MutatingAdmissionPolicyBinding",
        "mutatingadmissionpolicybindings",
    )
    .category(API_EXTENSIONS)
    .storage_version("admissionregistration.k8s.io", "v1beta1"),
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
    .subresources(&[STATUS]),
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
    .subresources(&[STATUS])
    .storage_version("apiextensions.k8s.io", "v1beta1"),
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
        .subresources(&[STATUS]),
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
    .subresources(&[STATUS]),
    row(
        "flowcontrol.apiserver.k8s.io",
        "v1",
        "PriorityLevelConfiguration",
        "prioritylevelconfigurations",
    )
    .subresources(&[STATUS]),
];
