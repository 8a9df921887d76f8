//! Compares sets of RBAC rules, as `k8s.io/component-helpers/auth/rbac/validation`.

use std::collections::BTreeSet;

use serde_json::Value;

/// A rule as sets of strings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PolicyRule {
    api_groups: Vec<String>,
    resources: Vec<String>,
    non_resource_urls: Vec<String>,
    resource_names: Vec<String>,
    verbs: Vec<String>,
}

impl PolicyRule {
    /// The rule of its JSON form.
    pub(super) fn from_json(rule: &Value) -> Self {
        let list = |field: &str| {
            let items = rule[field].as_array().into_iter().flatten();
            items
                .filter_map(|v| v.as_str().map(str::to_owned))
                .collect()
        };
        Self {
            api_groups: list("apiGroups"),
            resources: list("resources"),
            non_resource_urls: list("nonResourceURLs"),
            resource_names: list("resourceNames"),
            verbs: list("verbs"),
        }
    }

    /// All requests, as `cluster-admin` allows.
    pub(super) fn full_authority() -> [Self; 2] {
        let all = || vec!["*".to_owned()];
        let resources = Self {
            api_groups: all(),
            resources: all(),
            verbs: all(),
            ..Self::default()
        };
        let paths = Self {
            non_resource_urls: all(),
            verbs: all(),
            ..Self::default()
        };
        [resources, paths]
    }

    /// The rules of one verb and one resource or path each.
    fn breakdown(&self) -> Vec<Self> {
        let mut rules = Vec::new();
        let one = |text: &str| vec![text.to_owned()];
        for group in &self.api_groups {
            for resource in &self.resources {
                for verb in &self.verbs {
                    let rule = Self {
                        api_groups: one(group),
                        resources: one(resource),
                        verbs: one(verb),
                        ..Self::default()
                    };
                    if self.resource_names.is_empty() {
                        rules.push(rule);
                        continue;
                    }
                    rules.extend(self.resource_names.iter().map(|name| Self {
                        resource_names: one(name),
                        ..rule.clone()
                    }));
                }
            }
        }
        for path in &self.non_resource_urls {
            rules.extend(self.verbs.iter().map(|verb| Self {
                non_resource_urls: one(path),
                verbs: one(verb),
                ..Self::default()
            }));
        }
        rules
    }

    fn covers(&self, other: &Self) -> bool {
        let has = |set: &[String], item: &str| set.iter().any(|s| s == item);
        let has_all = |set: &[String], items: &[String]| items.iter().all(|item| has(set, item));
        let resource = |path: &String| {
            has(&self.resources, path)
                || path
                    .split_once('/')
                    .is_some_and(|(_, sub)| has(&self.resources, &format!("*/{sub}")))
        };
        let path = |path: &String| {
            self.non_resource_urls.iter().any(|own| {
                own == path
                    || own
                        .ends_with('*')
                        .then(|| own.trim_end_matches('*'))
                        .is_some_and(|prefix| path.starts_with(prefix))
            })
        };
        (has(&self.verbs, "*") || has_all(&self.verbs, &other.verbs))
            && (has(&self.api_groups, "*") || has_all(&self.api_groups, &other.api_groups))
            && (has(&self.resources, "*") || other.resources.iter().all(resource))
            && (self.resource_names.is_empty()
                || !other.resource_names.is_empty()
                    && has_all(&self.resource_names, &other.resource_names))
            && other.non_resource_urls.iter().all(path)
    }

    /// A description as in error messages.
    pub(super) fn compact_string(&self) -> String {
        let parts = [
            ("APIGroups", &self.api_groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.non_resource_urls),
            ("ResourceNames", &self.resource_names),
            ("Verbs", &self.verbs),
        ];
        let parts = parts.iter().filter(|(_, list)| !list.is_empty());
        let parts: Vec<_> = parts
            .map(|(name, list)| format!("{name}:{}", quoted(list)))
            .collect();
        format!("{{{}}}", parts.join(", "))
    }

    /// Whether the rule has one group, one resource, at most one name and nothing else.
    fn is_simple(&self) -> bool {
        self.api_groups.len() == 1
            && self.resources.len() == 1
            && self.resource_names.len() <= 1
            && self.non_resource_urls.is_empty()
    }
}

/// Strings as Go's `%q` prints them.
pub(super) fn quoted(list: &[String]) -> String {
    let items: Vec<_> = list.iter().map(|item| format!("{item:?}")).collect();
    format!("[{}]", items.join(" "))
}

/// The parts of `rules` that no rule of `owner` covers.
pub(super) fn uncovered(owner: &[PolicyRule], rules: &[PolicyRule]) -> Vec<PolicyRule> {
    let parts = rules.iter().flat_map(PolicyRule::breakdown);
    parts
        .filter(|part| !owner.iter().any(|own| own.covers(part)))
        .collect()
}

/// The descriptions of rules, sorted; rules of one resource are merged.
pub(super) fn compact_descriptions(rules: Vec<PolicyRule>) -> BTreeSet<String> {
    let mut compact: Vec<PolicyRule> = Vec::new();
    for rule in rules {
        let same = |other: &&mut PolicyRule| {
            other.is_simple()
                && other.api_groups == rule.api_groups
                && other.resources == rule.resources
                && other.resource_names == rule.resource_names
        };
        match compact.iter_mut().find(same) {
            Some(other) if rule.is_simple() => other.verbs.extend(rule.verbs),
            _ => compact.push(rule),
        }
    }
    compact.iter().map(PolicyRule::compact_string).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rules(list: &[Value]) -> Vec<PolicyRule> {
        list.iter().map(PolicyRule::from_json).collect()
    }

    #[test]
    fn parts_that_are_not_held_are_described_by_resource() {
        let owner = rules(&[
            json!({"apiGroups": [""], "resources": ["pods", "*/scale"], "verbs": ["get", "list"]}),
            json!({"nonResourceURLs": ["/healthz/*"], "verbs": ["get"]}),
        ]);
        let covered = rules(&[
            json!({"apiGroups": [""], "resources": ["pods", "x/scale"], "verbs": ["get"]}),
            json!({"apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"], "verbs": ["list"]}),
            json!({"nonResourceURLs": ["/healthz/ping"], "verbs": ["get"]}),
        ]);
        assert_eq!(uncovered(&owner, &covered), []);
        let more = rules(&[
            json!({"apiGroups": ["", "apps"], "resources": ["pods"], "verbs": ["get", "delete"]}),
            json!({"nonResourceURLs": ["/metrics"], "verbs": ["get"]}),
        ]);
        let missing = compact_descriptions(uncovered(&owner, &more));
        let missing: Vec<_> = missing.iter().map(String::as_str).collect();
        assert_eq!(
            missing,
            [
                r#"{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}"#,
                r#"{APIGroups:["apps"], Resources:["pods"], Verbs:["get" "delete"]}"#,
                r#"{NonResourceURLs:["/metrics"], Verbs:["get"]}"#,
            ]
        );
    }

    #[test]
    fn names_and_full_authority() {
        let named = rules(&[json!({
            "apiGroups": ["*"], "resources": ["*"], "resourceNames": ["a"], "verbs": ["*"],
        })]);
        let all = PolicyRule::full_authority();
        assert_eq!(uncovered(&named, &all).len(), 2);
        assert_eq!(uncovered(&all, &named), []);
        assert_eq!(uncovered(&all, &all), []);
    }
}
