//! Validation of webhook configurations.

use std::collections::BTreeSet;

use serde_json::Value;

use super::expressions::match_conditions;
use super::match_rules::{
    FAILURE_POLICIES, MATCH_POLICIES, optional_one_of, rule_with_operations, selectors,
};
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_apimachinery::webhook_validation::{
    ACCEPTED_REVIEW_VERSIONS, is_known_version, review_versions, webhook_client_config,
};
use kueue_lab_field::{FieldError, name_validation};
use kueue_lab_json::ValueExt;

const WEBHOOKS: FieldPath<'_> = FieldPath::root("webhooks");
const NO_SIDE_EFFECTS: [&str; 2] = ["None", "NoneOnDryRun"];
const SIDE_EFFECTS: [&str; 4] = ["None", "NoneOnDryRun", "Some", "Unknown"];
const REINVOCATION_POLICIES: [&str; 2] = ["IfNeeded", "Never"];

/// The invalid values that an update may keep because the stored configuration has them.
struct WebhookOptions {
    ignore_match_conditions: bool,
    require_no_side_effects: bool,
    require_recognized_version: bool,
    require_unique_names: bool,
    ignore_selectors: bool,
}

impl WebhookOptions {
    const CREATE: Self = Self {
        ignore_match_conditions: false,
        require_no_side_effects: true,
        require_recognized_version: true,
        require_unique_names: true,
        ignore_selectors: false,
    };

    fn of_update(new: &Value, old: &Value) -> Self {
        let (new, hooks) = (new.list("/webhooks"), old.list("/webhooks"));
        let conditions = |hooks: &[Value]| -> Vec<Vec<Value>> {
            let lists = hooks.iter().map(|h| h.list("/matchConditions").to_vec());
            lists.collect()
        };
        let recognized = |hook: &Value| {
            let versions = hook.list("/admissionReviewVersions");
            versions.is_empty() || versions.iter().any(is_known_version)
        };
        let names: BTreeSet<&str> = hooks.iter().map(|h| h.text("/name")).collect();
        let has_invalid_selector = |hook: &Value| {
            let mut errors = ErrorList::default();
            selectors(&mut errors, &WEBHOOKS, hook);
            !errors.0.is_empty()
        };
        Self {
            ignore_match_conditions: conditions(new) == conditions(hooks),
            require_no_side_effects: hooks
                .iter()
                .all(|h| NO_SIDE_EFFECTS.contains(&h.text("/sideEffects"))),
            require_recognized_version: hooks.iter().all(recognized),
            require_unique_names: names.len() == hooks.len(),
            ignore_selectors: hooks.iter().any(has_invalid_selector),
        }
    }
}

/// Validates a new webhook configuration.
pub(in super::super) fn webhooks_create(configuration: &Value) -> Vec<FieldError> {
    webhooks(configuration, &WebhookOptions::CREATE)
}

/// Validates an updated webhook configuration.
pub(in super::super) fn webhooks_update(new: &Value, old: &Value) -> Vec<FieldError> {
    webhooks(new, &WebhookOptions::of_update(new, old))
}

fn webhooks(configuration: &Value, options: &WebhookOptions) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    let mut names = BTreeSet::new();
    for (i, hook) in configuration.list("/webhooks").iter().enumerate() {
        let path = WEBHOOKS.index(i);
        webhook(&mut errors, &path, hook, options);
        review_versions(
            &mut errors,
            &path.child("admissionReviewVersions"),
            hook.list("/admissionReviewVersions"),
            &format!(
                "must specify one of {}",
                ACCEPTED_REVIEW_VERSIONS.join(", ")
            ),
            options.require_recognized_version,
        );
        let name = hook.text("/name");
        if options.require_unique_names && !name.is_empty() && !names.insert(name) {
            errors.duplicate(&path.child("name"), name);
        }
    }
    errors.0
}

fn webhook(errors: &mut ErrorList, path: &FieldPath<'_>, hook: &Value, options: &WebhookOptions) {
    fully_qualified_name(errors, &path.child("name"), hook.text("/name"));
    let rules = path.child("rules");
    for (i, rule) in hook.list("/rules").iter().enumerate() {
        rule_with_operations(errors, &rules.index(i), rule);
    }
    optional_one_of(errors, path, hook, "failurePolicy", &FAILURE_POLICIES);
    optional_one_of(errors, path, hook, "matchPolicy", &MATCH_POLICIES);
    let allowed: &[&str] = match options.require_no_side_effects {
        true => &NO_SIDE_EFFECTS,
        false => &SIDE_EFFECTS,
    };
    let at = path.child("sideEffects");
    if hook.has("/sideEffects") {
        errors.one_of(&at, hook.text("/sideEffects"), allowed);
    } else {
        errors.required(&at, &format!("must specify one of {}", allowed.join(", ")));
    }
    if let Some(seconds) = hook.at("/timeoutSeconds").as_i64()
        && !(1..=30).contains(&seconds)
    {
        let detail = "the timeout value must be between 1 and 30 seconds";
        errors.invalid(&path.child("timeoutSeconds"), seconds, detail);
    }
    if !options.ignore_selectors {
        selectors(errors, path, hook);
    }
    optional_one_of(
        errors,
        path,
        hook,
        "reinvocationPolicy",
        &REINVOCATION_POLICIES,
    );
    webhook_client_config(
        errors,
        &path.child("clientConfig"),
        hook.at("/clientConfig"),
    );
    if !options.ignore_match_conditions {
        match_conditions(errors, path, hook, false);
    }
}

/// Validates a domain of at least three segments.
fn fully_qualified_name(errors: &mut ErrorList, path: &FieldPath<'_>, name: &str) {
    if name.is_empty() {
        return errors.required(path, "");
    }
    let messages = name_validation::dns1123_subdomain(name);
    if !messages.is_empty() {
        errors.invalid(path, name, messages.join(","));
    } else if name.split('.').count() < 3 {
        let detail = "should be a domain with at least three segments separated by dots";
        errors.invalid(path, name, detail);
    }
}
