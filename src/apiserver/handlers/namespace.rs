//! What is particular to deleting namespaces: they stay, terminating, until whoever empties them
//! has taken their finalizers out of the spec.

use serde_json::Value;

use super::call::Call;
use super::delete::Next;
use super::{grace, meta};

fn is_namespace(call: &Call<'_>) -> bool {
    call.path.group.is_empty() && call.path.resource == "namespaces"
}

/// Whether an object is a namespace whose spec still has finalizers.
pub(super) fn is_held(call: &Call<'_>, object: &Value) -> bool {
    let finalizers = object.pointer("/spec/finalizers").and_then(Value::as_array);
    is_namespace(call) && finalizers.is_some_and(|f| !f.is_empty())
}

/// What a delete does to a namespace; `None` for other kinds, and for namespaces that can go like
/// any object.
pub(super) fn plan(call: &Call<'_>, old: &Value) -> Option<Next> {
    if !is_namespace(call) {
        return None;
    }
    if meta::is_terminating(old) {
        return is_held(call, old).then_some(Next::Wait);
    }
    let mut new = old.clone();
    grace::mark(&mut new, 0, call.core.clock.now());
    meta::meta_mut(&mut new).remove("deletionGracePeriodSeconds");
    new["status"]["phase"] = "Terminating".into();
    Some(Next::Mark(new))
}
