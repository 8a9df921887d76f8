//! Conditions of a status, as `k8s.io/apimachinery/pkg/api/meta`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

/// The condition of a type, if any.
pub fn find_condition<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|c| c.type_ == type_)
}

/// The condition of a type if its status is True.
pub fn find_true_condition<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    find_condition(conditions, type_).filter(|c| c.status == "True")
}

/// Whether the condition of a type is set and True.
pub fn is_condition_true(conditions: &[Condition], type_: &str) -> bool {
    find_true_condition(conditions, type_).is_some()
}

/// Sets the condition of its type. The transition time changes only with the status. True when
/// anything changed.
pub fn set_condition(conditions: &mut Vec<Condition>, new: Condition) -> bool {
    let Some(old) = conditions.iter_mut().find(|c| c.type_ == new.type_) else {
        conditions.push(new);
        return true;
    };
    let last_transition_time = if old.status == new.status {
        old.last_transition_time.clone()
    } else {
        new.last_transition_time.clone()
    };
    let new = Condition {
        last_transition_time,
        ..new
    };
    let changed = *old != new;
    *old = new;
    changed
}
