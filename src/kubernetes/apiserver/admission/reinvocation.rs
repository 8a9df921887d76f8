//! Reinvocation of mutating admission, upstream's `ReinvocationContext`: when a webhook or policy
//! has changed the object, the built-in plugins run again, and with them the webhooks and policies
//! of `reinvocationPolicy: IfNeeded` that ran before the change.

use std::collections::BTreeSet;

use serde_json::Value;

/// The state of mutating admission of one request over its two rounds.
#[derive(Debug, Default)]
pub(crate) struct ReinvocationContext {
    /// Whether this is the second round.
    pub(crate) is_reinvoke: bool,
    /// Whether there is a second round.
    pub(crate) should_reinvoke: bool,
    /// Invocations of webhooks, by configuration and webhook.
    pub(crate) webhooks: Invocations<(String, String)>,
    /// Invocations of policies, by policy, binding and parameter.
    pub(crate) policies: Invocations<(String, String, String)>,
}

/// The invocations of one kind of plugin.
#[derive(Debug)]
pub(crate) struct Invocations<K> {
    last_output: Value,
    previously_invoked: BTreeSet<K>,
    reinvoke: BTreeSet<K>,
}

impl<K> Default for Invocations<K> {
    fn default() -> Self {
        Self {
            last_output: Value::Null,
            previously_invoked: BTreeSet::new(),
            reinvoke: BTreeSet::new(),
        }
    }
}

impl<K: Ord> Invocations<K> {
    /// Begins a round. In the second one all eligible invocations are due if other plugins have
    /// changed the object.
    pub(crate) fn begin(&mut self, is_reinvoke: bool, object: &Value) {
        if is_reinvoke && self.last_output != *object {
            self.require_reinvoking();
        }
    }

    /// Ends a round with its resulting object.
    pub(crate) fn end(&mut self, object: &Value) {
        if !self.previously_invoked.is_empty() || !self.reinvoke.is_empty() {
            self.last_output.clone_from(object);
        }
    }

    /// Whether an invocation is due in a round.
    pub(crate) fn is_due(&self, is_reinvoke: bool, key: &K) -> bool {
        !is_reinvoke || self.reinvoke.contains(key)
    }

    /// Requires that the eligible invocations so far are repeated.
    pub(crate) fn require_reinvoking(&mut self) {
        self.reinvoke.append(&mut self.previously_invoked);
    }

    /// Records an invocation of `reinvocationPolicy: IfNeeded`.
    pub(crate) fn add_reinvocable(&mut self, key: K) {
        self.previously_invoked.insert(key);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn invocations_before_a_change_are_repeated() {
        let mut invocations = Invocations::default();
        invocations.begin(false, &json!(0));
        assert!(invocations.is_due(false, &"a"));
        invocations.add_reinvocable("a");
        invocations.require_reinvoking();
        invocations.add_reinvocable("b");
        invocations.end(&json!(1));
        invocations.begin(true, &json!(1));
        assert!(invocations.is_due(true, &"a"));
        assert!(!invocations.is_due(true, &"b"));
        // Another plugin has changed the object.
        invocations.begin(true, &json!(2));
        assert!(invocations.is_due(true, &"b"));
        assert!(!invocations.is_due(true, &"never invoked"));
    }
}
