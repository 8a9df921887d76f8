//! Webhook configurations, admission policies and API Priority and Fairness.

use serde_json::{Value, json};

use super::admission_validation;
use crate::builtin_strategy::BuiltinStrategy;
use kueue_lab_field::FieldError;
use kueue_lab_json::{ValueExt, ValueMutExt};

pub(super) fn strategy_of(kind: &str) -> BuiltinStrategy {
    let webhooks = BuiltinStrategy {
        validate_create: admission_validation::webhooks_create,
        validate_update: admission_validation::webhooks_update,
        generation_fields: &["webhooks"],
        ..BuiltinStrategy::DEFAULT
    };
    let (validate_create, validate_update) = validation_of(kind);
    match kind {
        "MutatingWebhookConfiguration" => BuiltinStrategy {
            set_defaults: |configuration| {
                webhook_defaults(configuration);
                for hook in configuration.items_mut("webhooks") {
                    hook.set_default("reinvocationPolicy", "Never");
                }
            },
            ..webhooks
        },
        "ValidatingWebhookConfiguration" => BuiltinStrategy {
            set_defaults: webhook_defaults,
            ..webhooks
        },
        "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy" => BuiltinStrategy {
            set_defaults: |policy| {
                if let Some(spec) = policy.get_object_mut("spec") {
                    spec.set_default("failurePolicy", "Fail");
                    if let Some(match_constraints) = spec.get_object_mut("matchConstraints") {
                        match_defaults(match_constraints);
                    }
                }
            },
            validate_create,
            validate_update,
            generation_fields: &["spec"],
            ..BuiltinStrategy::DEFAULT
        },
        _ => BuiltinStrategy {
            set_defaults: |binding| {
                if let Some(resources) = binding
                    .get_object_mut("spec")
                    .and_then(|s| s.get_object_mut("matchResources"))
                {
                    match_defaults(resources);
                }
            },
            validate_create,
            validate_update,
            generation_fields: &["spec"],
            ..BuiltinStrategy::DEFAULT
        },
    }
}

/// The validation of creates and of updates.
type Validation = (
    fn(&Value) -> Vec<FieldError>,
    fn(&Value, &Value) -> Vec<FieldError>,
);

/// The validation of policies and bindings.
fn validation_of(kind: &str) -> Validation {
    match kind {
        "ValidatingAdmissionPolicy" => (
            admission_validation::policy_create,
            admission_validation::policy_update,
        ),
        "ValidatingAdmissionPolicyBinding" => (admission_validation::binding, |new, _| {
            admission_validation::binding(new)
        }),
        "MutatingAdmissionPolicy" => (
            admission_validation::mutating_policy_create,
            admission_validation::mutating_policy_update,
        ),
        "MutatingAdmissionPolicyBinding" => (admission_validation::mutating_binding, |new, _| {
            admission_validation::mutating_binding(new)
        }),
        _ => (|_| Vec::new(), |_, _| Vec::new()),
    }
}

fn webhook_defaults(configuration: &mut Value) {
    for hook in configuration.items_mut("webhooks") {
        hook.set_default("failurePolicy", "Fail");
        hook.set_default("timeoutSeconds", 10);
        match_defaults(hook);
        if let Some(service) = hook
            .get_object_mut("clientConfig")
            .and_then(|c| c.get_object_mut("service"))
        {
            service.set_default("port", 443);
        }
        rule_scopes(hook, "rules");
    }
}

fn match_defaults(matcher: &mut Value) {
    matcher.set_default("matchPolicy", "Equivalent");
    matcher.set_default("namespaceSelector", json!({}));
    matcher.set_default("objectSelector", json!({}));
    rule_scopes(matcher, "resourceRules");
    rule_scopes(matcher, "excludeResourceRules");
}

fn rule_scopes(holder: &mut Value, field: &str) {
    for rule in holder.items_mut(field) {
        rule.set_default("scope", "*");
    }
}

/// Returns the strategy of FlowSchemas and PriorityLevelConfigurations.
pub(super) fn flow_control_strategy_of(kind: &str) -> BuiltinStrategy {
    let spec = BuiltinStrategy {
        generation_fields: &["spec"],
        ..BuiltinStrategy::DEFAULT
    };
    match kind {
        "FlowSchema" => BuiltinStrategy {
            set_defaults: |schema| {
                let spec = schema.object_mut("spec");
                if spec.int("/matchingPrecedence") == 0 {
                    spec.set_or_remove("matchingPrecedence", Some(1000.into()));
                }
            },
            ..spec
        },
        _ => BuiltinStrategy {
            set_defaults: |level| {
                let Some(limited) = level
                    .get_object_mut("spec")
                    .and_then(|s| s.get_object_mut("limited"))
                else {
                    return;
                };
                limited.set_default("nominalConcurrencyShares", 30);
                limited.set_default("lendablePercent", 0);
                let response = limited.object_mut("limitResponse");
                response.set_default("type", "Reject");
                if let Some(queuing) = response.get_object_mut("queuing") {
                    for (field, n) in [("queues", 64), ("handSize", 8), ("queueLengthLimit", 50)] {
                        queuing.set_default(field, n);
                    }
                }
            },
            ..spec
        },
    }
}
