//! Validation of a configuration, with upstream's messages.

mod configuration;
mod custom_metric_labels;
mod device_class_mappings;
mod fair_sharing;
mod integrations;
mod internal_cert_management;
mod managed_jobs_namespace_selector;
mod multi_kueue;
mod object_retention_policies;
mod resources;
mod tls;
mod visibility_server;
mod wait_for_pods_ready;

pub use configuration::validate;
