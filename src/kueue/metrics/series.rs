//! [`Series`]: the series of a metric, which can be deleted by their labels.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};

use super::labels::Labels;

/// The series of a metric by labels. Clones share them.
#[derive(Clone)]
pub(super) struct Series<M> {
    family: Family<Labels, M, fn() -> M>,
    known: Arc<Mutex<BTreeSet<Labels>>>,
}

/// The series of a counter.
pub(super) type Counters = Series<Counter>;

/// The series of a histogram.
pub(super) type Histograms = Series<Histogram>;

impl<M> Series<M>
where
    M: Clone + 'static,
    Family<Labels, M, fn() -> M>: Metric,
{
    /// Registers a metric without series. A counter is registered without its suffix `_total`.
    pub(super) fn register(
        registry: &mut Registry,
        name: impl Into<String>,
        help: impl AsRef<str>,
        new: fn() -> M,
    ) -> Self {
        let family = Family::<Labels, M, fn() -> M>::new_with_constructor(new);
        registry.register(name, escape(help.as_ref()), family.clone());
        Self {
            family,
            known: Arc::default(),
        }
    }

    /// The series with these labels, created if needed.
    pub(super) fn series(&self, labels: impl Into<Labels>) -> M {
        let labels = labels.into();
        let series = self.family.get_or_create(&labels).clone();
        let mut known = self.known.lock();
        if !known.contains(&labels) {
            known.insert(labels);
        }
        series
    }

    /// Deletes the series whose labels have all of these values.
    pub(super) fn delete(&self, matching: &[(&str, &str)]) {
        self.known.lock().retain(|labels| {
            let matches = |(name, value): &(&str, &str)| labels.get(name) == Some(*value);
            let delete = matching.iter().all(matches);
            if delete {
                self.family.remove(labels);
            }
            !delete
        });
    }
}

/// A help text on one line.
pub(super) fn escape(help: &str) -> String {
    help.replace('\\', "\\\\").replace('\n', "\\n")
}

/// A metric of ClusterQueues and its counterpart of LocalQueues.
pub(super) struct ByQueue<T> {
    pub(super) cluster_queue: T,
    pub(super) local_queue: T,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_deleted_by_labels() {
        let mut registry = Registry::default();
        let series = Counters::register(&mut registry, "x", "Two\nlines", Counter::default);
        for (queue, reason) in [("a", "1"), ("a", "2"), ("b", "1")] {
            let labels = vec![("queue", queue.to_owned()), ("reason", reason.to_owned())];
            series.series(labels).inc();
        }
        series.delete(&[("queue", "a")]);
        let text = kueue_lab_http::prometheus_text_format::to_text(&registry);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "# HELP x_total Two\\nlines",
                "# TYPE x_total counter",
                "x_total{queue=\"b\",reason=\"1\"} 1"
            ]
        );
    }
}
