//! The containers of a pod, and lists of their names in messages.

use std::collections::BTreeSet;

use kueue_lab_json::ValueExt;
use serde_json::Value;

use super::super::evaluator::PodFields;

impl<'a> PodFields<'a> {
    /// All containers, of all three kinds.
    pub(super) fn containers(self) -> impl Iterator<Item = &'a Value> {
        let lists = ["/initContainers", "/containers", "/ephemeralContainers"];
        lists.into_iter().flat_map(move |list| self.spec.list(list))
    }

    /// The names of the containers for which `is_bad` holds.
    pub(super) fn names_of(self, is_bad: impl FnMut(&'a Value) -> bool) -> Vec<&'a str> {
        let mut is_bad = is_bad;
        let bad = self.containers().filter(|c| is_bad(c));
        bad.map(Value::name_field).collect()
    }

    /// Whether the pod has a user namespace of its own.
    pub(super) fn is_in_user_namespace(self) -> bool {
        self.spec.at("/hostUsers").as_bool() == Some(false)
    }

    /// Whether the pod is for Windows.
    pub(super) fn is_for_windows(self) -> bool {
        self.spec.text("/os/name") == "windows"
    }
}

trait NameField {
    fn name_field(&self) -> &str;
}

impl NameField for Value {
    fn name_field(&self) -> &str {
        self.text("/name")
    }
}

/// `"a", "b"`
pub(super) fn quoted<T: AsRef<str>>(items: impl IntoIterator<Item = T>) -> String {
    let items = items
        .into_iter()
        .map(|item| format!("\"{}\"", item.as_ref()));
    items.collect::<Vec<_>>().join(", ")
}

/// `container "a"` or `containers "a", "b"`
pub(super) fn named_containers(names: &[&str]) -> String {
    format!(
        "{} {}",
        pluralize("container", "containers", names.len()),
        quoted(names)
    )
}

/// The word for `count` things.
pub(super) fn pluralize(
    singular: &'static str,
    plural: &'static str,
    count: usize,
) -> &'static str {
    if count == 1 { singular } else { plural }
}

/// Where a pod sets bad values: in the pod, in containers, or both.
#[derive(Default)]
pub(super) struct BadSetters<'a> {
    setters: Vec<String>,
    /// The bad values, sorted.
    pub(super) values: BTreeSet<&'a str>,
}

impl<'a> BadSetters<'a> {
    /// The setters of a field of the security contexts, which is at `pointer` in the pod's and in
    /// those of containers. `bad_value` gives the value that is not allowed.
    pub(super) fn of(
        pod: PodFields<'a>,
        pointer: &str,
        mut bad_value: impl FnMut(&'a Value) -> Option<&'a str>,
    ) -> Self {
        let pointer = format!("/securityContext{pointer}");
        let mut found = Self::default();
        let mut is_bad = |holder: &'a Value, values: &mut BTreeSet<&'a str>| {
            let field = holder.at(&pointer);
            let value = (!field.is_null()).then(|| bad_value(field)).flatten();
            values.extend(value);
            value.is_some()
        };
        if is_bad(pod.spec, &mut found.values) {
            found.setters.push("pod".into());
        }
        let values = &mut found.values;
        let names = pod.names_of(|container| is_bad(container, values));
        if !names.is_empty() {
            found.setters.push(named_containers(&names));
        }
        found
    }

    /// Adds a setter.
    pub(super) fn push(&mut self, setter: &str) {
        self.setters.push(setter.into());
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.setters.is_empty()
    }

    /// The setters, joined by `and`.
    pub(super) fn joined(&self) -> String {
        self.setters.join(" and ")
    }
}
