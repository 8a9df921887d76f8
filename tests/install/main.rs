//! Kueue in a cluster that is not ours: kinds, webhooks over HTTPS, certificates, and the way back.
//! The cluster is the embedded API server with a control plane of its own and nothing plugged in.

mod commands;
mod instances;
mod journey;
mod rights;
mod support;
