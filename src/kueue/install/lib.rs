//! Installs CRDs, webhook configurations, the APIService of explanations and certificates into an existing cluster, and uninstalls
//! them so that jobs and pods can run.
//!
//! Every object has the label [`MANAGED_BY`] and is applied with the field manager
//! [`FIELD_MANAGER`], so that it is upgraded in place and found by uninstall.
//! `docs/real-clusters.md` explains how the webhooks are registered.
//!
//! Depends on `webhooks` and `api`, not on the controller.

mod batch_role;
mod cert_rotator;
mod cluster_roles;
mod crds;
mod dynamic_objects;
mod error;
mod explanation_api;
mod installer;
mod managed_by;
mod uninstall;
mod webhook_configurations;
mod webhook_probe;
mod webhook_route;

pub use batch_role::BatchRole;
pub use cert_rotator::{CertRotator, CertificateSecret};
pub use cluster_roles::cluster_roles;
pub use error::InstallError;
pub use explanation_api::{EXPLANATION_SERVICE, ExplanationEndpoint};
pub use installer::{Installer, WebhookEndpoint};
pub use managed_by::{MANAGED_BY, is_managed_by_lab, selector};
pub use uninstall::UninstallReport;
pub use webhook_configurations::FailurePolicy;
pub use webhook_route::WebhookRoute;

/// The default namespace of namespaced objects.
pub const NAMESPACE: &str = "kueue-lab-system";

/// The field manager of server-side apply.
pub const FIELD_MANAGER: &str = "kueue-lab-install";
