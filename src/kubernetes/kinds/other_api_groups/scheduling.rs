//! PriorityClasses, RuntimeClasses and Leases.

use serde_json::Value;

use crate::builtin_strategy::BuiltinStrategy;
use crate::pod::scheduling;
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_field::{FieldError, name_validation};
use kueue_lab_json::{ValueExt, ValueMutExt};

/// Highest value of a user-defined PriorityClass.
const HIGHEST_USER_DEFINABLE_PRIORITY: i64 = 1_000_000_000;
/// System PriorityClasses, with values above the highest user-definable priority.
pub(super) const SYSTEM_PRIORITY_CLASSES: [(&str, i64); 2] = [
    ("system-cluster-critical", 2_000_000_000),
    ("system-node-critical", 2_000_001_000),
];

pub(super) const PRIORITY_CLASS: BuiltinStrategy = BuiltinStrategy {
    set_defaults: |class| class.set_default("preemptionPolicy", "PreemptLowerPriority"),
    validate_create: |class| {
        let mut errors = ErrorList::default();
        let (name, value) = (class.name(), class.int("/value"));
        let system = SYSTEM_PRIORITY_CLASSES.contains(&(name, value));
        if name.starts_with("system-") && !system {
            let metadata = FieldPath::root("metadata");
            let detail = format!(
                "priority class names with 'system-' prefix are reserved for system use only. error: {name} is not a known system priority class"
            );
            errors.forbidden(&metadata.child("name"), detail);
        } else if value > HIGHEST_USER_DEFINABLE_PRIORITY && !system {
            let detail = "maximum allowed value of a user defined priority is 1000000000";
            errors.forbidden(&FieldPath::root("value"), detail);
        }
        preemption(&mut errors, class);
        errors.0
    },
    validate_update: |new, old| {
        let mut errors = ErrorList::default();
        if new.int("/value") != old.int("/value") {
            errors.forbidden(
                &FieldPath::root("value"),
                "may not be changed in an update.",
            );
        }
        preemption(&mut errors, new);
        let policy = "/preemptionPolicy";
        errors.immutable(
            &FieldPath::root("preemptionPolicy"),
            new.at(policy),
            old.at(policy),
        );
        errors.0
    },
    generation_fields: &["value"],
    ..BuiltinStrategy::DEFAULT
};

fn preemption(errors: &mut ErrorList, class: &Value) {
    if class.has("/preemptionPolicy") {
        let policies = ["PreemptLowerPriority", "Never"];
        let policy = class.text("/preemptionPolicy");
        errors.required_one_of(&FieldPath::root("preemptionPolicy"), policy, &policies);
    }
}

pub(super) const RUNTIME_CLASS: BuiltinStrategy = BuiltinStrategy {
    validate_create: runtime_class,
    validate_update: |new, old| {
        let mut errors = ErrorList::default();
        errors.immutable(
            &FieldPath::root("handler"),
            new.at("/handler"),
            old.at("/handler"),
        );
        errors.extend(runtime_class(new));
        errors.0
    },
    ..BuiltinStrategy::DEFAULT
};

fn runtime_class(class: &Value) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    let handler = class.text("/handler");
    errors.invalid_for_each(
        &FieldPath::root("handler"),
        handler,
        name_validation::dns1123_label(handler),
    );
    let path = FieldPath::root("scheduling");
    let tolerations = class.list("/scheduling/tolerations");
    scheduling::tolerations(&mut errors, &path.child("tolerations"), tolerations);
    errors.0
}

pub(super) const LEASE: BuiltinStrategy = BuiltinStrategy {
    validate_create: lease,
    validate_update: |new, _| lease(new),
    allow_create_on_update: true,
    ..BuiltinStrategy::DEFAULT
};

fn lease(lease: &Value) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    let spec = FieldPath::root("spec");
    if let Some(seconds) = lease.at("/spec/leaseDurationSeconds").as_i64()
        && seconds <= 0
    {
        errors.invalid(
            &spec.child("leaseDurationSeconds"),
            seconds,
            "must be greater than 0",
        );
    }
    errors.not_negative(&spec, lease.at("/spec"), "leaseTransitions");
    errors.0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn priority_classes() {
        let class = |name: &str, value: i64| json!({"metadata": {"name": name}, "value": value});
        let texts = |c: Value| {
            (PRIORITY_CLASS.validate_create)(&c)
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
        };
        assert!(texts(class("high", 1000)).is_empty());
        assert!(texts(class("system-node-critical", 2_000_001_000)).is_empty());
        assert_eq!(
            texts(class("high", 1_000_000_001)),
            ["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"]
        );
        assert!(
            texts(class("system-mine", 1))[0].starts_with(
                "metadata.name: Forbidden: priority class names with 'system-' prefix"
            )
        );
        let errors = (PRIORITY_CLASS.validate_update)(&class("a", 2), &class("a", 1));
        assert_eq!(
            errors[0].to_string(),
            "value: Forbidden: may not be changed in an update."
        );
    }
}
