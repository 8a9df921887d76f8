//! Webhook configurations, admission policies, flow control.

use serde_json::{Value, json};

use crate::kinds::rules::Rules;
use crate::kinds::value::{Fill, Look};

pub(super) fn rules(kind: &str) -> Rules {
    let webhooks = Rules {
        generation_of: &["webhooks"],
        ..Rules::PLAIN
    };
    match kind {
        "MutatingWebhookConfiguration" => Rules {
            default: |configuration| {
                webhook_defaults(configuration);
                for hook in configuration.items_mut("webhooks") {
                    hook.or_set("reinvocationPolicy", "Never");
                }
            },
            ..webhooks
        },
        "ValidatingWebhookConfiguration" => Rules {
            default: webhook_defaults,
            ..webhooks
        },
        "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy" => Rules {
            default: |policy| {
                if let Some(spec) = policy.child_if("spec") {
                    spec.or_set("failurePolicy", "Fail");
                    if let Some(match_constraints) = spec.child_if("matchConstraints") {
                        match_defaults(match_constraints);
                    }
                }
            },
            generation_of: &["spec"],
            ..Rules::PLAIN
        },
        _ => Rules {
            default: |binding| {
                if let Some(resources) = binding
                    .child_if("spec")
                    .and_then(|s| s.child_if("matchResources"))
                {
                    match_defaults(resources);
                }
            },
            generation_of: &["spec"],
            ..Rules::PLAIN
        },
    }
}

fn webhook_defaults(configuration: &mut Value) {
    for hook in configuration.items_mut("webhooks") {
        hook.or_set("failurePolicy", "Fail");
        hook.or_set("timeoutSeconds", 10);
        match_defaults(hook);
        if let Some(service) = hook
            .child_if("clientConfig")
            .and_then(|c| c.child_if("service"))
        {
            service.or_set("port", 443);
        }
        rule_scopes(hook, "rules");
    }
}

fn match_defaults(matcher: &mut Value) {
    matcher.or_set("matchPolicy", "Equivalent");
    matcher.or_set("namespaceSelector", json!({}));
    matcher.or_set("objectSelector", json!({}));
    rule_scopes(matcher, "resourceRules");
    rule_scopes(matcher, "excludeResourceRules");
}

fn rule_scopes(holder: &mut Value, field: &str) {
    for rule in holder.items_mut(field) {
        rule.or_set("scope", "*");
    }
}

/// Flow schemas and priority levels.
pub(super) fn flow_control(kind: &str) -> Rules {
    let spec = Rules {
        generation_of: &["spec"],
        ..Rules::PLAIN
    };
    match kind {
        "FlowSchema" => Rules {
            default: |schema| {
                let spec = schema.child("spec");
                if spec.int("/matchingPrecedence") == 0 {
                    spec.put("matchingPrecedence", Some(1000.into()));
                }
            },
            ..spec
        },
        _ => Rules {
            default: |level| {
                let Some(limited) = level.child_if("spec").and_then(|s| s.child_if("limited"))
                else {
                    return;
                };
                limited.or_set("nominalConcurrencyShares", 30);
                limited.or_set("lendablePercent", 0);
                let response = limited.child("limitResponse");
                response.or_set("type", "Reject");
                if let Some(queuing) = response.child_if("queuing") {
                    for (field, n) in [("queues", 64), ("handSize", 8), ("queueLengthLimit", 50)] {
                        queuing.or_set(field, n);
                    }
                }
            },
            ..spec
        },
    }
}
