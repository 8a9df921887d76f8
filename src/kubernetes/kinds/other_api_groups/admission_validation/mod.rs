//! Validation of webhook configurations, admission policies and their bindings.

pub mod expressions;
mod match_rules;
mod mutating_admission_policy;
mod policy_binding;
mod validating_admission_policy;
mod webhook_configuration;

#[cfg(test)]
mod tests;

pub(super) use mutating_admission_policy::{
    mutating_binding, mutating_policy_create, mutating_policy_update,
};
pub(super) use policy_binding::binding;
pub(super) use validating_admission_policy::{policy_create, policy_update};
pub(super) use webhook_configuration::{webhooks_create, webhooks_update};
