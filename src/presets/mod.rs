//! The presets folder: watch, parse, validate, diff, apply, prune, and keep the last good state.
//! Reaches the cluster only through a `kube::Client`.
