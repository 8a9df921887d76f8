//! Defaults of the configuration.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

use super::{
    Configuration, DEFAULT_NAMESPACE, DISPATCHER_ALL_AT_ONCE, DISPATCHER_INCREMENTAL, Duration,
    LocalQueueMetrics, WaitForPodsReady,
};

/// Applies the defaults of v1beta2, which enable `waitForPodsReady` with 30 minutes.
pub fn apply(configuration: &mut Configuration) {
    shared_by_versions(configuration);
    let waiting = configuration.wait_for_pods_ready.get_or_insert_default();
    wait_for_pods_ready(waiting, Duration::from_secs(30 * 60), false);
    let multi_kueue = configuration.multi_kueue.get_or_insert_default();
    if multi_kueue.dispatcher_name.as_deref() == Some(DISPATCHER_INCREMENTAL) {
        let incremental = multi_kueue
            .incremental_dispatcher_config
            .get_or_insert_default();
        incremental.step_size.get_or_insert(3);
    }
    configuration
        .visibility_server
        .get_or_insert_default()
        .bind_port
        .get_or_insert(8082);
}

/// The defaults of `waitForPodsReady`.
pub(super) fn wait_for_pods_ready(waiting: &mut WaitForPodsReady, timeout: Duration, blocks: bool) {
    if waiting.timeout == Duration::ZERO {
        waiting.timeout = timeout;
    }
    waiting.block_admission.get_or_insert(blocks);
    waiting.recovery_timeout.get_or_insert(waiting.timeout);
    let strategy = waiting.requeuing_strategy.get_or_insert_default();
    strategy
        .timestamp
        .get_or_insert_with(|| "Eviction".to_owned());
    strategy.backoff_base_seconds.get_or_insert(60);
    strategy.backoff_max_seconds.get_or_insert(3600);
}

/// The common defaults of v1beta1 and v1beta2.
pub(super) fn shared_by_versions(configuration: &mut Configuration) {
    let text = |field: &mut String, default: &str| {
        if field.is_empty() {
            *field = default.to_owned();
        }
    };
    let duration = |field: &mut Duration, seconds: i64| {
        if *field == Duration::ZERO {
            *field = Duration::from_secs(seconds);
        }
    };
    let c = configuration;
    let namespace = c
        .namespace
        .get_or_insert_with(|| DEFAULT_NAMESPACE.to_owned())
        .clone();
    c.webhook.port.get_or_insert(9443);
    text(
        &mut c.webhook.cert_dir,
        "/tmp/k8s-webhook-server/serving-certs",
    );
    text(&mut c.metrics.bind_address, ":8443");
    text(&mut c.health.health_probe_bind_address, ":8081");
    let by_queue = || LocalQueueMetrics {
        enable: true,
        local_queue_selector: None,
    };
    c.metrics.local_queue_metrics.get_or_insert_with(by_queue);

    let election = c.leader_election.get_or_insert_default();
    election.leader_elect.get_or_insert(true);
    text(&mut election.resource_name, "c1f6bfd2.kueue.x-k8s.io");
    text(&mut election.resource_lock, "leases");
    duration(&mut election.lease_duration, 15);
    duration(&mut election.renew_deadline, 10);
    duration(&mut election.retry_period, 2);

    let certificates = c.internal_cert_management.get_or_insert_default();
    if *certificates.enable.get_or_insert(true) {
        let names = [
            (
                &mut certificates.webhook_service_name,
                "kueue-webhook-service",
            ),
            (
                &mut certificates.webhook_secret_name,
                "kueue-webhook-server-cert",
            ),
        ];
        for (name, default) in names {
            name.get_or_insert_with(|| default.to_owned());
        }
    }
    let connection = c.client_connection.get_or_insert_default();
    connection.qps.get_or_insert(300.0);
    connection.burst.get_or_insert(500);

    let integrations = c.integrations.get_or_insert_default();
    if integrations.frameworks.is_empty() {
        integrations.frameworks.push("batch/job".to_owned());
    }
    c.managed_jobs_namespace_selector
        .get_or_insert_with(|| LabelSelector {
            match_labels: None,
            match_expressions: Some(vec![LabelSelectorRequirement {
                key: "kubernetes.io/metadata.name".to_owned(),
                operator: "NotIn".to_owned(),
                values: Some(vec!["kube-system".to_owned(), namespace]),
            }]),
        });

    let multi_kueue = c.multi_kueue.get_or_insert_default();
    multi_kueue
        .gc_interval
        .get_or_insert(Duration::from_secs(60));
    text(multi_kueue.origin.get_or_insert_default(), "multikueue");
    multi_kueue
        .worker_lost_timeout
        .get_or_insert(Duration::from_secs(15 * 60));
    multi_kueue
        .dispatcher_name
        .get_or_insert_with(|| DISPATCHER_ALL_AT_ONCE.to_owned());

    if let Some(sharing) = &mut c.admission_fair_sharing {
        duration(&mut sharing.usage_sampling_interval, 5 * 60);
    }
    for transformation in c.resources.iter_mut().flat_map(|r| &mut r.transformations) {
        text(transformation.strategy.get_or_insert_default(), "Retain");
    }
}
