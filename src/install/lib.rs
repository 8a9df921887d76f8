//! What Kueue needs to be in a cluster that is not ours: kinds, webhooks, certificates; and the way
//! back, which leaves jobs and pods able to run.
//!
//! Everything put there carries [`MANAGED_BY`] and is written by server-side apply as
//! [`FIELD_MANAGER`], so it is upgraded in place and found again. `docs/real-clusters.md` says why
//! the webhooks are registered as they are.
//!
//! Knows `webhooks` and `api`; must not know how webhooks are answered or who admits.

mod cert_rotator;
mod crds;
mod dynamic_objects;
mod error;
mod installer;
pub mod uninstall;
mod webhook_configurations;
mod webhook_probe;
mod webhook_route;

pub use cert_rotator::CertRotator;
pub use error::InstallError;
pub use installer::{Installer, WebhookEndpoint};
pub use webhook_configurations::FailurePolicy;
pub use webhook_route::WebhookRoute;

/// The namespace for what has to be in one.
pub const NAMESPACE: &str = "kueue-lab-system";

/// Who wrote it, for server-side apply.
pub const FIELD_MANAGER: &str = "kueue-lab-install";

/// Key and value of the label on everything that is installed.
pub const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "kueue-lab");

/// Selects everything that is installed.
pub fn selector() -> String {
    format!("{}={}", MANAGED_BY.0, MANAGED_BY.1)
}
