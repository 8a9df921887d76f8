//! The rules of Kubernetes that components, API server, Kueue and UI share, as functions without a client
//! (`k8s.io/component-helpers`, `k8s.io/apimachinery/pkg/labels`): requests of pods, taints and tolerations, label
//! selectors, node affinity, conditions, numbers or percentages.
//!
//! Must not depend on a client, a clock or a component.

pub mod conditions;
pub mod int_or_percent;
pub mod label_selector;
pub mod label_selector_validation;
mod label_validation;
pub mod node_affinity;
pub mod requirement;
pub mod resource;
pub mod resource_amounts;
pub mod toleration;
pub mod truncate;

pub use label_validation::{key_error, value_error};
