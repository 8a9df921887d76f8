//! Runs the controller on an existing cluster, as one of several instances: installs CRDs and
//! webhooks, serves webhooks, participates in leader election, and runs the controllers while it is
//! the leader.
//!
//! Outside the cluster only the leader runs anything, since the webhooks are registered with one
//! URL. Inside, all instances are behind one Service: they serve webhooks from the start, and their
//! informers are synced when they become the leader.
//!
//! Depends on `install`, `webhooks`, `election`, `metrics` and `controller`, not on the command
//! line.

mod explainer;
mod explanation_server;
mod front_proxy;
mod health;
mod instance;
mod leadership;
mod operator;
mod operator_health;
mod rate_limiter;

pub use explainer::Explainer;
pub use instance::InstanceRole;
pub use operator::{ExplanationConfig, Operator, OperatorConfig, OperatorError, WITHOUT_WEBHOOKS};
