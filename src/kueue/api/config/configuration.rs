//! `Configuration` of `config.kueue.x-k8s.io/v1beta2`.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::{Deserialize, Serialize};

use super::{
    AdmissionFairSharing, Duration, FairSharing, Integrations, MultiKueue, ObjectRetentionPolicies,
    Resources, WaitForPodsReady,
};

/// Kueue's configuration. [`super::load`] parses it and applies defaults.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Configuration {
    /// The namespace of Kueue. Default `kueue-system`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The webhook server.
    pub webhook: ControllerWebhook,
    /// Leader election.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leader_election: Option<LeaderElectionConfiguration>,
    /// Metrics.
    pub metrics: ControllerMetrics,
    /// Health checks.
    pub health: ControllerHealth,
    /// The address of pprof; empty to disable it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pprof_bind_address: String,
    /// Concurrency of the controllers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<ControllerConfigurationSpec>,
    /// TLS of all servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsOptions>,
    /// Whether jobs without a queue name are managed.
    pub manage_jobs_without_queue_name: bool,
    /// The namespaces with managed jobs. Default: all but `kube-system` and Kueue's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub managed_jobs_namespace_selector: Option<LabelSelector>,
    /// Internal certificate management.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub internal_cert_management: Option<InternalCertManagement>,
    /// `waitForPodsReady`; `None` disables it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_for_pods_ready: Option<WaitForPodsReady>,
    /// Limits of requests to the API server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_connection: Option<ClientConnection>,
    /// The enabled integrations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub integrations: Option<Integrations>,
    /// MultiKueue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multi_kueue: Option<MultiKueue>,
    /// Fair sharing within cohorts; `None` disables it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fair_sharing: Option<FairSharing>,
    /// Admission fair sharing among LocalQueues; `None` disables it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admission_fair_sharing: Option<AdmissionFairSharing>,
    /// Resource management: quota checks, transformations, devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,
    /// Feature gates that differ from their defaults.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "super::nullable"
    )]
    pub feature_gates: BTreeMap<String, bool>,
    /// Retention of finished objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_retention_policies: Option<ObjectRetentionPolicies>,
    /// The visibility server.
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

    /// The names of the enabled frameworks.
    pub fn frameworks(&self) -> &[String] {
        self.integrations.as_ref().map_or(&[], |i| &i.frameworks)
    }
}

impl Configuration {
    /// The default configuration of Kueue.
    pub fn defaulted() -> Self {
        let mut configuration = Self::default();
        super::apply_defaults(&mut configuration);
        configuration
    }
}

/// The webhook server.
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

/// Leader election.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LeaderElectionConfiguration {
    /// Whether leader election is enabled. Default true.
    pub leader_elect: Option<bool>,
    /// Duration of the Lease. Default 15s.
    pub lease_duration: Duration,
    /// Timeout of renewals by the leader. Default 10s.
    pub renew_deadline: Duration,
    /// Interval of attempts. Default 2s.
    pub retry_period: Duration,
    /// Resource of the lock. Default `leases`.
    pub resource_lock: String,
    /// Name of the lock. Default `c1f6bfd2.kueue.x-k8s.io`.
    pub resource_name: String,
    /// Namespace of the lock.
    pub resource_namespace: String,
}

/// Metrics.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ControllerMetrics {
    /// Address. Default `:8443`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub bind_address: String,
    /// Whether quota and usage of ClusterQueues are reported.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub enable_cluster_queue_resources: bool,
    /// Custom labels from the metadata of objects.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "super::nullable"
    )]
    pub custom_labels: Vec<ControllerMetricsCustomLabel>,
    /// Metrics by LocalQueue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_queue_metrics: Option<LocalQueueMetrics>,
}

/// A custom metric label from the metadata of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ControllerMetricsCustomLabel {
    /// Name of the metric's label, without the prefix `custom_`.
    pub name: String,
    /// The object's label. Default: the name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub source_label_key: String,
    /// The object's annotation; mutually exclusive with the label.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub source_annotation_key: String,
    /// Kind of the object: `ClusterQueue` (default), `Cohort`, `LocalQueue` or `Workload`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_kind: Option<String>,
    /// The tracked values; empty for all.
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
    /// Whether they are enabled.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub enable: bool,
    /// Selects LocalQueues; `None` for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_queue_selector: Option<LabelSelector>,
}

/// Health checks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ControllerHealth {
    /// Address. Default `:8081`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub health_probe_bind_address: String,
    /// Path of the readiness endpoint.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub readiness_endpoint_name: String,
    /// Path of the liveness endpoint.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub liveness_endpoint_name: String,
}

/// Concurrency of the controllers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ControllerConfigurationSpec {
    /// Concurrency by `Kind.group`, such as `Job.batch`.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "super::nullable"
    )]
    pub group_kind_concurrency: BTreeMap<String, i64>,
    /// Timeout of the initial cache sync, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_sync_timeout: Option<i64>,
}

/// TLS of all servers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TlsOptions {
    /// Minimum version: `VersionTLS12` (default) or `VersionTLS13`.
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

/// Internal certificate management.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InternalCertManagement {
    /// Whether it is enabled. Default true.
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
    /// Requests per second. Default 300.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qps: Option<f32>,
    /// Burst. Default 500.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<i32>,
}

/// The visibility server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VisibilityServerConfiguration {
    /// IP address to listen on; `None` for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bind_address: Option<String>,
    /// Port. Default 8082.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bind_port: Option<i32>,
}
