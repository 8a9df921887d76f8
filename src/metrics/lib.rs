//! Prometheus metrics of the admission controller, with upstream's names and labels.
//!
//! What happens is counted by looking at how Workloads change and at what cycles tell; how things
//! stand is read from the informers and the engine when somebody asks. The controller knows nothing of it.
//!
//! Not there: labels from the metadata of objects (`metrics.customLabels`), and what belongs to
//! MultiKueue, workload slices and latencies of single writes.

mod changes;
mod cycles;
mod standing;

use std::sync::Arc;

use kube::ResourceExt;
use parking_lot::Mutex;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use kueue_lab_controller::Shared;
use kueue_lab_runtime::Change;

/// The type of what [`Metrics::text`] gives.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Names and values of labels, always in the same order for one metric.
type Labels = Vec<(&'static str, String)>;
type Counters = Family<Labels, Counter>;
type Histograms = Family<Labels, Histogram, fn() -> Histogram>;

/// What an instance is in the election, as the label `replica_role` says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplicaRole {
    /// It leads.
    Leader,
    /// Another one leads.
    Follower,
    /// There is no election.
    Standalone,
}

impl ReplicaRole {
    fn label(self) -> (&'static str, String) {
        let word = match self {
            Self::Leader => "leader",
            Self::Follower => "follower",
            Self::Standalone => "standalone",
        };
        ("replica_role", word.to_owned())
    }
}

/// The metrics of a process, over all its terms. Clones share them.
#[derive(Clone)]
pub struct Metrics {
    inner: Arc<Inner>,
}

struct Inner {
    registry: Mutex<Registry>,
    role: ReplicaRole,
    counted: changes::Counted,
    standing: standing::Standing,
    cycles: cycles::Cycles,
}

/// One second, then 2.5 s and its doubles: `count` buckets in all.
fn waits<const COUNT: u16>() -> Histogram {
    use prometheus_client::metrics::histogram::exponential_buckets;
    let doubles = exponential_buckets(2.5, 2.0, COUNT.saturating_sub(1));
    Histogram::new(std::iter::once(1.0).chain(doubles))
}

impl Metrics {
    /// No metrics yet. Whoever takes part in an election counts only while it leads.
    pub fn new(role: ReplicaRole) -> Self {
        let mut registry = Registry::with_prefix("kueue");
        let counted = changes::Counted::register(&mut registry);
        let standing = standing::Standing::register(&mut registry);
        let cycles = cycles::Cycles::register(&mut registry);
        Self {
            inner: Arc::new(Inner {
                registry: Mutex::new(registry),
                role,
                counted,
                standing,
                cycles,
            }),
        }
    }

    /// Counts what a controller does from now on.
    pub fn follow(&self, shared: &Shared) {
        let inner = self.inner.clone();
        let by_queue = shared.settings.local_queue_metrics();
        let clock = shared.ctx.clock.clone();
        shared.informers.workloads.subscribe(move |change| {
            inner.counted.see(change, clock.now(), inner.role, by_queue);
        });
        let inner = self.inner.clone();
        shared.on_attempt(move |attempt| inner.cycles.see(attempt, inner.role));
        let inner = self.inner.clone();
        shared.informers.cluster_queues.subscribe(move |change| {
            if let Change::Deleted(queue) = change {
                inner.cycles.forget(&queue.name_any(), inner.role);
            }
        });
    }

    /// All metrics in Prometheus' text format, as upstream gives them; how things stand as `controller` knows it.
    pub fn text(&self, controller: Option<&Shared>) -> String {
        let inner = &self.inner;
        // Held, so that two who ask at once do not see half of what is read anew.
        let registry = inner.registry.lock();
        inner.standing.clear();
        if let Some(shared) = controller {
            inner.standing.read(shared, inner.role);
        }
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = encode(&mut text, &registry);
        classic(&text)
    }
}

/// Turns OpenMetrics into the format before it, which upstream speaks: there a counter and a gauge
/// may share a name but for the counter's `_total`.
fn classic(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let is_counter = |line: &str| line.starts_with("# TYPE ") && line.ends_with(" counter");
        let of_counter = is_counter(line) || lines.peek().is_some_and(|next| is_counter(next));
        let head = ["# HELP ", "# TYPE "]
            .into_iter()
            .find(|h| line.starts_with(h));
        match head {
            _ if line == "# EOF" => continue,
            Some(head) if of_counter => {
                let rest = &line[head.len()..];
                let (name, rest) = rest.split_once(' ').unwrap_or((rest, ""));
                out.extend([head, name, "_total ", rest]);
            }
            _ => match line.strip_suffix(" inf") {
                Some(rest) => out.extend([rest, " +Inf"]),
                None => out.push_str(line),
            },
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests;
