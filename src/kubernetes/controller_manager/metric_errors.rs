//! The errors of metrics that a cluster without metrics APIs has,
//! `pkg/controller/podautoscaler/metrics/client.go`.

use k8s_openapi::api::autoscaling::v2::MetricSpec;

/// The error of a metric whose API is not served.
pub(super) struct MetricError {
    /// The reason of the condition and the Event.
    pub(super) reason: &'static str,
    /// The error.
    pub(super) message: String,
    /// The name of the value in the message.
    pub(super) value: String,
}

impl MetricError {
    /// The error of a metric.
    pub(super) fn of(metric: &MetricSpec) -> Self {
        let resource = |reason, name: &str, is_utilization: bool, value: String| {
            let what = if is_utilization {
                "utilization"
            } else {
                "usage"
            };
            Self {
                reason,
                message: format!(
                    "failed to get {name} {what}: unable to get metrics for resource {name}: unable \
                     to fetch metrics from resource metrics API: the server could not find the \
                     requested resource (get pods.metrics.k8s.io)"
                ),
                value,
            }
        };
        let custom = |reason, name: &str, value: &str| Self {
            reason,
            message: format!(
                "unable to get metric {name}: unable to fetch metrics from custom metrics API: no \
                 custom metrics API (custom.metrics.k8s.io) registered"
            ),
            value: value.into(),
        };
        if let Some(source) = &metric.resource {
            let is_utilization = source.target.average_utilization.is_some();
            let value = format!("{} resource metric value", source.name);
            resource(
                "FailedGetResourceMetric",
                &source.name,
                is_utilization,
                value,
            )
        } else if let Some(source) = &metric.container_resource {
            let is_utilization = source.target.average_utilization.is_some();
            let value = format!("{} container metric value", source.name);
            let reason = "FailedGetContainerResourceMetric";
            resource(reason, &source.name, is_utilization, value)
        } else if let Some(source) = &metric.pods {
            let name = &source.metric.name;
            custom("FailedGetPodsMetric", name, "pods metric value")
        } else if let Some(source) = &metric.object {
            let name = &source.metric.name;
            custom("FailedGetObjectMetric", name, "object metric value")
        } else {
            let name = metric.external.as_ref().map_or("", |e| &e.metric.name);
            Self {
                reason: "FailedGetExternalMetric",
                message: format!(
                    "unable to get external metric {name}: unable to fetch metrics from external \
                     metrics API: the server could not find the requested resource (get \
                     {name}.external.metrics.k8s.io)"
                ),
                value: format!("{name} external metric value"),
            }
        }
    }
}
