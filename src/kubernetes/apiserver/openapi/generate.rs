//! Generates `definitions.txt` from the types of k8s-openapi; compiled for tests only.
//! `UPDATE_OPENAPI=1 cargo test -p kueue-lab-apiserver --lib openapi` updates the checked-in file.

use std::borrow::Cow;

use k8s_openapi as k8s;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};

use super::builtin::TEXT;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi/definitions.txt");

/// Adds the schema of one type to a generator; returns its name.
type Root = fn(&mut SchemaGenerator) -> Cow<'static, str>;

macro_rules! roots {
    ($($path:ident)::+ { $($kind:ident),* $(,)? }) => {{
        use k8s::$($path)::+ as package;
        const ROOTS: &[Root] = &[$(|generator| {
            generator.subschema_for::<package::$kind>();
            package::$kind::schema_name()
        }),*];
        ROOTS
    }};
}

/// Types in every document: metadata, DeleteOptions, Status, Patch.
const META: &[Root] = roots!(apimachinery::pkg::apis::meta::v1 {
    APIResourceList,
    DeleteOptions,
    ListMeta,
    ObjectMeta,
    Patch,
    Status,
});

/// The group versions with the root types of their requests and responses, which may be of other
/// groups.
const GROUP_VERSIONS: &[(&str, &str, &[&[Root]])] = &[
    (
        "",
        "v1",
        &[
            roots!(api::core::v1 {
                Binding,
                ComponentStatus,
                ConfigMap,
                Endpoints,
                Event,
                LimitRange,
                Namespace,
                Node,
                PersistentVolume,
                PersistentVolumeClaim,
                Pod,
                PodTemplate,
                ReplicationController,
                ResourceQuota,
                Secret,
                Service,
                ServiceAccount,
            }),
            roots!(api::autoscaling::v1 { Scale }),
            roots!(api::policy::v1 { Eviction }),
            roots!(api::authentication::v1 { TokenRequest }),
        ],
    ),
    (
        "apps",
        "v1",
        &[
            roots!(api::apps::v1 {
                ControllerRevision,
                DaemonSet,
                Deployment,
                ReplicaSet,
                StatefulSet,
            }),
            roots!(api::autoscaling::v1 { Scale }),
        ],
    ),
    ("batch", "v1", &[roots!(api::batch::v1 { CronJob, Job })]),
    (
        "autoscaling",
        "v1",
        &[roots!(api::autoscaling::v1 {
            HorizontalPodAutoscaler,
            Scale
        })],
    ),
    (
        "autoscaling",
        "v2",
        &[roots!(api::autoscaling::v2 {
            HorizontalPodAutoscaler
        })],
    ),
    (
        "policy",
        "v1",
        &[roots!(api::policy::v1 {
            Eviction,
            PodDisruptionBudget
        })],
    ),
    (
        "rbac.authorization.k8s.io",
        "v1",
        &[roots!(api::rbac::v1 {
            ClusterRole,
            ClusterRoleBinding,
            Role,
            RoleBinding,
        })],
    ),
    (
        "networking.k8s.io",
        "v1",
        &[roots!(api::networking::v1 {
            IPAddress,
            Ingress,
            IngressClass,
            NetworkPolicy,
            ServiceCIDR,
        })],
    ),
    (
        "storage.k8s.io",
        "v1",
        &[roots!(api::storage::v1 {
            CSIDriver,
            CSINode,
            CSIStorageCapacity,
            StorageClass,
            VolumeAttachment,
            VolumeAttributesClass,
        })],
    ),
    (
        "admissionregistration.k8s.io",
        "v1",
        &[roots!(api::admissionregistration::v1 {
            MutatingAdmissionPolicy,
            MutatingAdmissionPolicyBinding,
            MutatingWebhookConfiguration,
            ValidatingAdmissionPolicy,
            ValidatingAdmissionPolicyBinding,
            ValidatingWebhookConfiguration,
        })],
    ),
    (
        "apiextensions.k8s.io",
        "v1",
        &[roots!(
            apiextensions_apiserver::pkg::apis::apiextensions::v1 {
                CustomResourceDefinition
            }
        )],
    ),
    (
        "apiregistration.k8s.io",
        "v1",
        &[roots!(kube_aggregator::pkg::apis::apiregistration::v1 {
            APIService
        })],
    ),
    (
        "scheduling.k8s.io",
        "v1",
        &[roots!(api::scheduling::v1 { PriorityClass })],
    ),
    (
        "coordination.k8s.io",
        "v1",
        &[roots!(api::coordination::v1 { Lease })],
    ),
    (
        "node.k8s.io",
        "v1",
        &[roots!(api::node::v1 { RuntimeClass })],
    ),
    (
        "discovery.k8s.io",
        "v1",
        &[roots!(api::discovery::v1 { EndpointSlice })],
    ),
    ("events.k8s.io", "v1", &[roots!(api::events::v1 { Event })]),
    (
        "certificates.k8s.io",
        "v1",
        &[roots!(api::certificates::v1 {
            CertificateSigningRequest
        })],
    ),
    (
        "flowcontrol.apiserver.k8s.io",
        "v1",
        &[roots!(api::flowcontrol::v1 {
            FlowSchema,
            PriorityLevelConfiguration,
        })],
    ),
    (
        "resource.k8s.io",
        "v1",
        &[roots!(api::resource::v1 {
            DeviceClass,
            ResourceClaim,
            ResourceClaimTemplate,
            ResourceSlice,
        })],
    ),
    (
        "authentication.k8s.io",
        "v1",
        &[roots!(api::authentication::v1 {
            SelfSubjectReview,
            TokenRequest,
            TokenReview,
        })],
    ),
    (
        "authorization.k8s.io",
        "v1",
        &[roots!(api::authorization::v1 {
            LocalSubjectAccessReview,
            SelfSubjectAccessReview,
            SelfSubjectRulesReview,
            SubjectAccessReview,
        })],
    ),
    ("meta.k8s.io", "v1", &[META]),
];

/// The text of the file.
fn generate() -> String {
    let settings = SchemaSettings::draft2020_12().with(|s| {
        s.definitions_path = "/components/schemas".into();
        s.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let mut text = String::new();
    for (group, version, roots) in GROUP_VERSIONS {
        text += &format!("{group}/{version}");
        let roots = roots
            .iter()
            .copied()
            .flatten()
            .chain(META)
            .chain(roots!(apimachinery::pkg::runtime { RawExtension }));
        for root in roots {
            text += &format!(" {}", root(&mut generator));
        }
        text.push('\n');
    }
    for (name, schema) in generator.take_definitions(false) {
        text += &format!("{name} {schema}\n");
    }
    text
}

#[test]
fn the_definitions_are_those_of_the_types() {
    let generated = generate();
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        std::fs::write(FILE, generated).unwrap();
    } else {
        assert!(
            TEXT == generated,
            "the types changed: run UPDATE_OPENAPI=1 cargo test -p kueue-lab-apiserver --lib openapi"
        );
    }
}
