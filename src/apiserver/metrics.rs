//! What the server counts of itself, as `/metrics` shows it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use parking_lot::Mutex;

/// Upper bounds of the latency histogram, in seconds.
const BUCKET_BOUNDS: [f64; 8] = [0.005, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];

/// Counters of answered requests.
#[derive(Default)]
pub(super) struct Metrics {
    requests: Mutex<BTreeMap<RequestLabels, RequestCounts>>,
}

/// What requests are told apart by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RequestLabels {
    pub(super) verb: &'static str,
    pub(super) group: String,
    pub(super) version: String,
    pub(super) resource: String,
    pub(super) code: u16,
}

#[derive(Clone, Copy, Default)]
struct RequestCounts {
    total: u64,
    seconds: f64,
    buckets: [u64; BUCKET_BOUNDS.len()],
}

impl Metrics {
    /// Counts one answered request.
    pub(super) fn observe_request(&self, labels: RequestLabels, took: Duration) {
        let seconds = took.as_secs_f64();
        let mut requests = self.requests.lock();
        let counts = requests.entry(labels).or_default();
        counts.total += 1;
        counts.seconds += seconds;
        for (bucket, bound) in counts.buckets.iter_mut().zip(BUCKET_BOUNDS) {
            *bucket += u64::from(seconds <= bound);
        }
    }

    /// The counters in the Prometheus text format.
    pub(super) fn to_prometheus_text(&self) -> String {
        const TOTAL: &str = "apiserver_request_total";
        const SECONDS: &str = "apiserver_request_duration_seconds";
        let requests = self.requests.lock();
        let (mut totals, mut times) = (String::new(), String::new());
        for (l, c) in requests.iter() {
            let what = format!(
                "verb=\"{}\",group=\"{}\",version=\"{}\",resource=\"{}\"",
                l.verb.to_uppercase(),
                l.group,
                l.version,
                l.resource
            );
            // Writing to a string cannot fail.
            let _ = writeln!(totals, "{TOTAL}{{{what},code=\"{}\"}} {}", l.code, c.total);
            let what = format!("{what},code=\"{}\"", l.code);
            for (bound, n) in BUCKET_BOUNDS.iter().zip(c.buckets) {
                let _ = writeln!(times, "{SECONDS}_bucket{{{what},le=\"{bound}\"}} {n}");
            }
            let _ = writeln!(times, "{SECONDS}_bucket{{{what},le=\"+Inf\"}} {}", c.total);
            let _ = writeln!(times, "{SECONDS}_sum{{{what}}} {}", c.seconds);
            let _ = writeln!(times, "{SECONDS}_count{{{what}}} {}", c.total);
        }
        format!(
            "# HELP {SECONDS} Response latency in seconds.\n# TYPE {SECONDS} histogram\n{times}\
             # HELP {TOTAL} Requests answered.\n# TYPE {TOTAL} counter\n{totals}"
        )
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
        assert!(
            text.contains(&format!("apiserver_request_total{{{what}}} 2\n")),
            "{text}"
        );
        assert!(
            text.contains("le=\"0.025\"} 1\n") && text.contains("le=\"5\"} 2\n"),
            "{text}"
        );
    }
}
