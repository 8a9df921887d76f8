//! Request metrics of `/metrics`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Upper bounds of the latency histogram, in seconds.
const BUCKET_BOUNDS: [f64; 8] = [0.005, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];

/// The number of label sets of requests. Resources of further ones have no name.
const MAX_LABEL_SETS: usize = 5_000;

type Labels = [(&'static str, String); 5];

type RejectionLabels = [(&'static str, String); 3];

/// Request counters and latency histograms.
pub(super) struct Metrics {
    registry: Registry,
    requests: Family<Labels, Counter>,
    durations: Family<Labels, Histogram, fn() -> Histogram>,
    label_sets: AtomicUsize,
    rejected: Family<RejectionLabels, Counter>,
    dropped: Family<[(&'static str, &'static str); 1], Counter>,
    panics: Counter,
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

impl RequestLabels {
    /// The labels of a request to no resource that is served.
    pub(super) fn of_verb(verb: &'static str) -> Self {
        Self {
            verb,
            group: String::new(),
            version: String::new(),
            resource: String::new(),
            code: 0,
        }
    }

    fn into_pairs(self) -> Labels {
        [
            ("verb", self.verb.to_uppercase()),
            ("group", self.group),
            ("version", self.version),
            ("resource", self.resource),
            ("code", self.code.to_string()),
        ]
    }

    /// The same labels with the status code of the response.
    #[must_use]
    pub(super) fn with_code(mut self, code: u16) -> Self {
        self.code = code;
        self
    }
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
        let rejected = Family::default();
        registry.register(
            "apiserver_flowcontrol_rejected_requests",
            "Requests rejected by API Priority and Fairness",
            rejected.clone(),
        );
        let dropped = Family::default();
        registry.register(
            "apiserver_request_terminations",
            "Requests which the apiserver terminated in self-defense",
            dropped.clone(),
        );
        let panics = Counter::default();
        registry.register(
            "apiserver_request_panics",
            "Requests whose handler panicked",
            panics.clone(),
        );
        Self {
            registry,
            requests,
            durations,
            label_sets: AtomicUsize::new(0),
            rejected,
            dropped,
            panics,
        }
    }
}

impl Metrics {
    /// Records one completed request.
    pub(super) fn observe_request(&self, labels: RequestLabels, elapsed: Duration) {
        let mut labels = labels.into_pairs();
        if self.requests.get(&labels).is_none()
            && self.label_sets.fetch_add(1, Ordering::Relaxed) >= MAX_LABEL_SETS
        {
            for label in &mut labels[1..4] {
                label.1.clear();
            }
        }
        self.requests.get_or_create(&labels).inc();
        self.durations
            .get_or_create(&labels)
            .observe(elapsed.as_secs_f64());
    }

    /// Records a request that priority and fairness rejected.
    pub(super) fn observe_rejection(&self, level: &str, schema: &str, reason: &'static str) {
        let labels = [
            ("priority_level", level.to_owned()),
            ("flow_schema", schema.to_owned()),
            ("reason", reason.to_owned()),
        ];
        self.rejected.get_or_create(&labels).inc();
    }

    /// Records a request that another limit ended: the name of the limit.
    pub(super) fn observe_termination(&self, limit: &'static str) {
        self.dropped.get_or_create(&[("limit", limit)]).inc();
    }

    /// Records a request whose handler panicked.
    pub(super) fn observe_panic(&self) {
        self.panics.inc();
    }

    /// The metrics in the Prometheus text format.
    pub(super) fn to_prometheus_text(&self) -> String {
        kueue_lab_http::prometheus_text_format::to_text(&self.registry)
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
