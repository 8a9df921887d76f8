//! `Configuration` of `config.kueue.x-k8s.io/v1beta2`: the file, and the parts that set up the process.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::{Deserialize, Serialize};

use super::{
    AdmissionFairSharing, Duration, FairSharing, Integrations, MultiKueue, ObjectRetentionPolicies,
    Resources, WaitForPodsReady,
};

/// Everything that can be set of Kueue. Read it with [`super::load`], which applies defaults.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Configuration {
    /// The namespace Kueue runs in. Default `kueue-system`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Where webhooks are served.
    pub webhook: ControllerWebhook,
    /// Election among several instances.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leader_election: Option<LeaderElectionConfiguration>,
    /// Metrics.
    pub metrics: ControllerMetrics,
    /// Health checks.
    pub health: ControllerHealth,
    /// Where profiles are served; empty for nowhere.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pprof_bind_address: String,
    /// How many objects are worked on at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<ControllerConfigurationSpec>,
    /// TLS of all servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsOptions>,
    /// Whether jobs without a queue name are held back too.
    pub manage_jobs_without_queue_name: bool,
    /// In which namespaces jobs are managed. Default: all but `kube-system` and Kueue's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub managed_jobs_namespace_selector: Option<LabelSelector>,
    /// Certificates that Kueue makes itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub internal_cert_management: Option<InternalCertManagement>,
    /// How long admitted workloads have to get their pods ready. Nothing turns it off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_for_pods_ready: Option<WaitForPodsReady>,
    /// Limits of requests to the API server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_connection: Option<ClientConnection>,
    /// Which kinds of jobs are managed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub integrations: Option<Integrations>,
    /// Workloads in other clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multi_kueue: Option<MultiKueue>,
    /// Fair sharing within cohorts; nothing turns it off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fair_sharing: Option<FairSharing>,
    /// Fair sharing among LocalQueues over time; nothing turns it off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admission_fair_sharing: Option<AdmissionFairSharing>,
    /// How resources are counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,
    /// Feature gates that differ from their defaults.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "super::nullable"
    )]
    pub feature_gates: BTreeMap<String, bool>,
    /// How long finished workloads are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_retention_policies: Option<ObjectRetentionPolicies>,
    /// Where the visibility API is served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visibility_server: Option<VisibilityServerConfiguration>,
}

impl Configuration {
    /// The namespace Kueue runs in.
    pub fn namespace(&self) -> &str {
        self.namespace
            .as_deref()
            .unwrap_or(super::DEFAULT_NAMESPACE)
    }

    /// The kinds of jobs that are managed, by framework name.
    pub fn frameworks(&self) -> &[String] {
        self.integrations.as_ref().map_or(&[], |i| &i.frameworks)
    }
}

/// Where webhooks are served.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ControllerWebhook {
    /// Port. Default 9443.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<i32>,
    /// Address to listen on; empty for all.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// Directory of the certificate. Default `/tmp/k8s-webhook-server/serving-certs`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cert_dir: String,
}

/// Election among several instances.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LeaderElectionConfiguration {
    /// Whether there is an election. Default true.
    pub leader_elect: Option<bool>,
    /// How long a leader may be silent. Default 15s.
    pub lease_duration: Duration,
    /// How long a leader tries to stay one. Default 10s.
    pub renew_deadline: Duration,
    /// How often is tried. Default 2s.
    pub retry_period: Duration,
    /// Kind of the object that says who leads. Default `leases`.
    pub resource_lock: String,
    /// Name of that object. Default `c1f6bfd2.kueue.x-k8s.io`.
    pub resource_name: String,
    /// Its namespace.
    pub resource_namespace: String,
}

/// Metrics.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ControllerMetrics {
    /// Where they are served. Default `:8443`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub bind_address: String,
    /// Whether quota and usage of ClusterQueues are among them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub enable_cluster_queue_resources: bool,
    /// Labels from the metadata of objects.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "super::nullable"
    )]
    pub custom_labels: Vec<ControllerMetricsCustomLabel>,
    /// Metrics by LocalQueue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_queue_metrics: Option<LocalQueueMetrics>,
}

/// A label of metrics that comes from the metadata of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ControllerMetricsCustomLabel {
    /// Name of the metric's label, without the prefix `custom_`.
    pub name: String,
    /// The object's label. Default: the name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub source_label_key: String,
    /// The object's annotation; excludes the label.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub source_annotation_key: String,
    /// Kind of the object: `ClusterQueue` (default), `Cohort`, `LocalQueue` or `Workload`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_kind: Option<String>,
    /// Values that are told apart; empty for all.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "super::nullable"
    )]
    pub tracked_values: Vec<String>,
}

/// Metrics by LocalQueue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LocalQueueMetrics {
    /// Whether there are any.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub enable: bool,
    /// Of which LocalQueues; nothing for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_queue_selector: Option<LabelSelector>,
}

/// Health checks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ControllerHealth {
    /// Where they are served. Default `:8081`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub health_probe_bind_address: String,
    /// Path of readiness.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub readiness_endpoint_name: String,
    /// Path of liveness.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub liveness_endpoint_name: String,
}

/// How many objects are worked on at once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ControllerConfigurationSpec {
    /// By `Kind.group`, such as `Job.batch`.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "super::nullable"
    )]
    pub group_kind_concurrency: BTreeMap<String, i64>,
    /// How long the first lists may take, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_sync_timeout: Option<i64>,
}

/// TLS of all servers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TlsOptions {
    /// Oldest version: `VersionTLS12` (default) or `VersionTLS13`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub min_version: String,
    /// Cipher suites by Go's names; not with TLS 1.3.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "super::nullable"
    )]
    pub cipher_suites: Vec<String>,
    /// Curves by number.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "super::nullable"
    )]
    pub curve_preferences: Vec<i32>,
}

/// Certificates that Kueue makes itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InternalCertManagement {
    /// Whether it does. Default true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable: Option<bool>,
    /// Name of the webhooks' Service. Default `kueue-webhook-service`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook_service_name: Option<String>,
    /// Name of the certificate's Secret. Default `kueue-webhook-server-cert`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook_secret_name: Option<String>,
}

/// Limits of requests to the API server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientConnection {
    /// Requests a second. Default 300.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qps: Option<f32>,
    /// Requests at once. Default 500.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<i32>,
}

/// Where the visibility API is served.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VisibilityServerConfiguration {
    /// IP address to listen on; nothing for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bind_address: Option<String>,
    /// Port. Default 8082.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bind_port: Option<i32>,
}
