//! Priority classes, runtime classes and leases.

use serde_json::Value;

use crate::field::FieldError;
use crate::kinds::check::{Errors, Path};
use crate::kinds::meta::names;
use crate::kinds::pod::scheduling;
use crate::kinds::rules::Rules;
use crate::kinds::value::{Fill, Look};

/// The largest priority a user may give.
const HIGHEST: i64 = 1_000_000_000;
/// Classes that every cluster has, with values above the highest of users.
pub(super) const SYSTEM: [(&str, i64); 2] = [
    ("system-cluster-critical", 2_000_000_000),
    ("system-node-critical", 2_000_001_000),
];

pub(super) const PRIORITY_CLASS: Rules = Rules {
    default: |class| class.or_set("preemptionPolicy", "PreemptLowerPriority"),
    create: |class| {
        let mut errors = Errors::default();
        let (name, value) = (class.name(), class.int("/value"));
        let system = SYSTEM.contains(&(name, value));
        if name.starts_with("system-") && !system {
            let metadata = Path::root("metadata");
            let detail = format!(
                "priority class names with 'system-' prefix are reserved for system use only. error: {name} is not a known system priority class"
            );
            errors.forbidden(&metadata.child("name"), detail);
        } else if value > HIGHEST && !system {
            let detail = "maximum allowed value of a user defined priority is 1000000000";
            errors.forbidden(&Path::root("value"), detail);
        }
        preemption(&mut errors, class);
        errors.0
    },
    update: |new, old| {
        let mut errors = Errors::default();
        if new.int("/value") != old.int("/value") {
            errors.forbidden(&Path::root("value"), "may not be changed in an update.");
        }
        preemption(&mut errors, new);
        let policy = "/preemptionPolicy";
        errors.immutable(
            &Path::root("preemptionPolicy"),
            new.at(policy),
            old.at(policy),
        );
        errors.0
    },
    generation_of: &["value"],
    ..Rules::PLAIN
};

fn preemption(errors: &mut Errors, class: &Value) {
    if class.has("/preemptionPolicy") {
        let policies = ["PreemptLowerPriority", "Never"];
        let policy = class.text("/preemptionPolicy");
        errors.some_of(&Path::root("preemptionPolicy"), policy, &policies);
    }
}

pub(super) const RUNTIME_CLASS: Rules = Rules {
    create: runtime_class,
    update: |new, old| {
        let mut errors = Errors::default();
        errors.immutable(
            &Path::root("handler"),
            new.at("/handler"),
            old.at("/handler"),
        );
        errors.extend(runtime_class(new));
        errors.0
    },
    ..Rules::PLAIN
};

fn runtime_class(class: &Value) -> Vec<FieldError> {
    let mut errors = Errors::default();
    let handler = class.text("/handler");
    errors.complaints(&Path::root("handler"), handler, names::label(handler));
    let path = Path::root("scheduling");
    let tolerations = class.list("/scheduling/tolerations");
    scheduling::tolerations(&mut errors, &path.child("tolerations"), tolerations);
    errors.0
}

pub(super) const LEASE: Rules = Rules {
    create: lease,
    update: |new, _| lease(new),
    creates_on_update: true,
    ..Rules::PLAIN
};

fn lease(lease: &Value) -> Vec<FieldError> {
    let mut errors = Errors::default();
    let spec = Path::root("spec");
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
            (PRIORITY_CLASS.create)(&c)
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
        let errors = (PRIORITY_CLASS.update)(&class("a", 2), &class("a", 1));
        assert_eq!(
            errors[0].to_string(),
            "value: Forbidden: may not be changed in an update."
        );
    }
}
