//! The report of an uninstall.

/// What was done, and what was not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UninstallReport {
    /// Webhook configurations removed.
    pub webhooks: usize,
    /// Jobs that can run again, as `kind namespace/name`.
    pub jobs: Vec<String>,
    /// Pods that can be scheduled again, as `namespace/name`.
    pub pods: Vec<String>,
    /// Objects whose finalizer was taken off.
    pub finalizers: usize,
    /// Definitions removed, with all objects of the kind.
    pub definitions: Vec<String>,
    /// Further objects removed, as `kind name`.
    pub objects: Vec<String>,
    /// What stays as it is, and why.
    pub kept: Vec<String>,
}

impl UninstallReport {
    /// Whether there was nothing to do.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The report for people, a line each.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut count = |n: usize, what: &str| {
            if n > 0 {
                lines.push(format!("{what}: {n}"));
            }
        };
        count(self.webhooks, "webhook configurations removed");
        count(self.finalizers, "finalizers taken off");
        lines.extend(self.jobs.iter().map(|job| format!("can run: {job}")));
        lines.extend(
            self.pods
                .iter()
                .map(|pod| format!("can be scheduled: pod {pod}")),
        );
        lines.extend(
            self.definitions
                .iter()
                .map(|d| format!("removed: kind {d}")),
        );
        lines.extend(self.objects.iter().map(|o| format!("removed: {o}")));
        lines.extend(self.kept.iter().map(|left| format!("left: {left}")));
        lines
    }
}
