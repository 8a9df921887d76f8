//! Request metrics of `/metrics`.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Upper bounds of the latency histogram, in seconds.
const BUCKET_BOUNDS: [f64; 8] = [0.005, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];

type Labels = [(&'static str, String); 5];

/// Request counters and latency histograms.
pub(super) struct Metrics {
    registry: Registry,
    requests: Family<Labels, Counter>,
    durations: Family<Labels, Histogram, fn() -> Histogram>,
}

/// The labels of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RequestLabels {
    pub(super) verb: &'static str,
    pub(super) group: String,
    pub(super) version: String,
    pub(super) resource: String,
    pub(super) code: u16,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::default();
        let requests = Family::default();
        let durations: Family<Labels, Histogram, fn() -> Histogram> =
            Family::new_with_constructor(|| Histogram::new(BUCKET_BOUNDS));
        registry.register(
            "apiserver_request_duration_seconds",
            "Response latency in seconds",
            durations.clone(),
        );
        registry.register("apiserver_request", "Requests answered", requests.clone());
        Self {
            registry,
            requests,
            durations,
        }
    }
}

impl Metrics {
    /// Records one completed request.
    pub(super) fn observe_request(&self, labels: RequestLabels, took: Duration) {
        let labels = [
            ("verb", labels.verb.to_uppercase()),
            ("group", labels.group),
            ("version", labels.version),
            ("resource", labels.resource),
            ("code", labels.code.to_string()),
        ];
        self.requests.get_or_create(&labels).inc();
        self.durations
            .get_or_create(&labels)
            .observe(took.as_secs_f64());
    }

    /// The metrics in the Prometheus text format.
    pub(super) fn to_prometheus_text(&self) -> String {
        kueue_lab_prometheus::to_text(&self.registry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_up() {
        let metrics = Metrics::default();
        let labels = RequestLabels {
            verb: "list",
            group: String::new(),
            version: "v1".into(),
            resource: "pods".into(),
            code: 200,
        };
        metrics.observe_request(labels.clone(), Duration::from_millis(10));
        metrics.observe_request(labels, Duration::from_secs(2));
        let text = metrics.to_prometheus_text();
        let what = "verb=\"LIST\",group=\"\",version=\"v1\",resource=\"pods\",code=\"200\"";
        for line in [
            "# HELP apiserver_request_total Requests answered\n".to_owned(),
            format!("apiserver_request_total{{{what}}} 2\n"),
            format!("apiserver_request_duration_seconds_bucket{{le=\"0.025\",{what}}} 1\n"),
            format!("apiserver_request_duration_seconds_bucket{{le=\"5\",{what}}} 2\n"),
            format!("apiserver_request_duration_seconds_bucket{{le=\"+Inf\",{what}}} 2\n"),
            format!("apiserver_request_duration_seconds_sum{{{what}}} 2.01\n"),
        ] {
            assert!(text.contains(&line), "{line} is not in\n{text}");
        }
    }
}
