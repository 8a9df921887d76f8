//! The report of an uninstall.

/// The removed and the kept objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UninstallReport {
    /// Webhook configurations removed.
    pub webhooks: usize,
    /// Resumed jobs, as `kind namespace/name`.
    pub jobs: Vec<String>,
    /// Jobs with ungated pod templates, as `kind namespace/name`.
    pub templates: Vec<String>,
    /// Ungated pods, as `namespace/name`.
    pub pods: Vec<String>,
    /// The number of objects whose finalizer was removed.
    pub finalizers: usize,
    /// Deleted CRDs.
    pub definitions: Vec<String>,
    /// Other deleted objects, as `kind name`.
    pub objects: Vec<String>,
    /// The kept objects with the reason.
    pub kept: Vec<String>,
}

impl UninstallReport {
    /// Whether nothing was done.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The report as text lines.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut count = |n: usize, what: &str| {
            if n > 0 {
                lines.push(format!("{what}: {n}"));
            }
        };
        count(self.webhooks, "webhook configurations removed");
        count(self.finalizers, "finalizers removed");
        lines.extend(self.jobs.iter().map(|job| format!("can run: {job}")));
        lines.extend(
            self.templates
                .iter()
                .map(|job| format!("new pods can be scheduled: {job}")),
        );
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
