//! Prometheus' classic text format (0.0.4), which Kubernetes components serve; prometheus-client
//! writes OpenMetrics.
//!
//! Must not depend on any other crate of the lab.

mod text_format;

pub use text_format::{CONTENT_TYPE, to_text};
