//! [`ApplyOptions`]: how presets are applied.

/// How presets are applied: by default neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApplyOptions {
    /// Whether presets take over fields of other clients, as `kubectl apply --server-side --force-conflicts` does:
    /// for copies of a cluster. Otherwise they are conflicts.
    pub force_conflicts: bool,
    /// Whether namespaces of a preset's objects that neither exist nor are in the preset are created, with a warning:
    /// for labs that only check a folder whose Namespaces are kept elsewhere. Otherwise they are errors.
    pub create_namespaces: bool,
}
