//! [`Mismatch`]: an observed state that is not the expected one.

use super::workload_history::ObservedWorkload;

/// The number of jobs listed in a mismatch.
pub(super) const MAX_SHOWN: usize = 5;

/// An expectation that is not met.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Mismatch {
    /// The observed state.
    pub(super) observed: String,
    /// The Workloads concerned, as namespace and name.
    pub(super) workloads: Vec<(String, String)>,
}

impl Mismatch {
    /// A mismatch without Workloads.
    pub(super) fn new(observed: impl Into<String>) -> Self {
        Self {
            observed: observed.into(),
            workloads: Vec::new(),
        }
    }

    /// Writes a text before the observed state.
    pub(super) fn prepend(&mut self, text: String) {
        self.observed = match self.observed.is_empty() {
            true => text,
            false => format!("{text}: {}", self.observed),
        };
    }

    /// A mismatch with a text about each Workload.
    pub(super) fn of(
        workloads: &[&ObservedWorkload],
        text: impl Fn(&ObservedWorkload) -> String,
    ) -> Self {
        let shown = workloads.iter().take(MAX_SHOWN);
        let mut lines: Vec<String> = shown
            .map(|w| format!("{} {}", w.title(), text(w)))
            .collect();
        if workloads.len() > MAX_SHOWN {
            lines.push(format!("and {} more", workloads.len() - MAX_SHOWN));
        }
        Self {
            observed: lines.join("; "),
            workloads: workload_names(workloads),
        }
    }
}

/// The names of the Workloads that still exist.
pub(super) fn workload_names(workloads: &[&ObservedWorkload]) -> Vec<(String, String)> {
    let live = workloads.iter().filter(|w| !w.is_deleted);
    live.map(|w| (w.namespace.clone(), w.name.clone()))
        .collect()
}
