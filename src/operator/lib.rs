//! The controller on a cluster that somebody else runs, as one of several instances: installs what
//! it needs there, serves its webhooks, takes part in the election, and admits while it leads.
//!
//! Outside the cluster an instance does everything only while it leads, since the webhooks are
//! registered at one place. Inside, all instances stand behind one Service: they answer webhooks
//! from the start, and know the cluster well when they come to lead.
//!
//! Knows `install`, `webhooks`, `election`, `metrics` and `controller`; must not know the command line or what
//! else runs beside the controller.

pub mod health;
mod instance;
mod leadership;
mod operator;
mod operator_health;
mod rate_limiter;

pub use instance::InstanceRole;
pub use operator::{Operator, OperatorConfig, OperatorError, WITHOUT_WEBHOOKS};
