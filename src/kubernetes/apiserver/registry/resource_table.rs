//! An immutable table of served resources, for lookups and discovery.

use std::cmp::{Ordering, Reverse};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use super::ServedResource;

/// All groups, in discovery order.
#[derive(Debug, Default)]
pub struct ResourceTable {
    groups: Vec<ServedGroup>,
    by_path: HashMap<String, Arc<ServedResource>>,
    /// The document of the core group, once it is requested.
    pub(crate) core_document: OnceLock<EncodedDocument>,
    /// The document of the other groups, without those of extension API servers in other processes.
    pub(crate) groups_document: OnceLock<EncodedDocument>,
}

/// A document of aggregated discovery.
#[derive(Debug)]
pub(crate) struct EncodedDocument {
    /// The document as JSON.
    pub(crate) json: Bytes,
    /// Its ETag, quoted.
    pub(crate) etag: String,
}

/// One API group.
#[derive(Debug)]
pub struct ServedGroup {
    /// Group name; empty for core.
    pub name: Arc<str>,
    /// The versions, preferred first.
    pub versions: Vec<ServedVersion>,
}

/// One version of a group.
#[derive(Debug)]
pub struct ServedVersion {
    /// Version name, such as `v1`.
    pub name: Arc<str>,
    /// The resources, by plural name.
    pub resources: Vec<Arc<ServedResource>>,
}

fn path(group: &str, version: &str, plural: &str) -> String {
    let mut path = String::with_capacity(group.len() + version.len() + plural.len() + 2);
    path.extend([group, "/", version, "/", plural]);
    path
}

impl ResourceTable {
    /// Whether the group is not one of CustomResourceDefinitions only.
    pub(crate) fn is_builtin_group(&self, name: &str) -> bool {
        let versions = self.group(name).into_iter().flat_map(|g| &g.versions);
        let mut resources = versions.flat_map(|v| &v.resources);
        resources.any(|resource| resource.custom.is_none())
    }

    /// Orders groups and versions by their first resource.
    pub(super) fn new(all: Vec<Arc<ServedResource>>) -> Self {
        let mut table = Self::default();
        for served in all {
            let kind = &served.kind;
            let key = path(&kind.group, &kind.version, &kind.plural);
            table.by_path.insert(key, served.clone());
            let group = find_or_push(
                &mut table.groups,
                |g| g.name == kind.group,
                || ServedGroup {
                    name: kind.group.clone(),
                    versions: Vec::new(),
                },
            );
            let version = find_or_push(
                &mut group.versions,
                |v| v.name == kind.version,
                || ServedVersion {
                    name: kind.version.clone(),
                    resources: Vec::new(),
                },
            );
            version.resources.push(served);
        }
        for version in table.groups.iter_mut().flat_map(|g| &mut g.versions) {
            version
                .resources
                .sort_by(|a, b| a.kind.plural.cmp(&b.kind.plural));
        }
        for group in &mut table.groups {
            group
                .versions
                .sort_by(|a, b| compare_kube_aware_versions(&a.name, &b.name));
        }
        table
    }

    /// Finds a resource by group, version and plural name.
    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<ServedResource>> {
        self.by_path.get(&path(group, version, plural))
    }

    /// All groups, core first.
    pub fn groups(&self) -> &[ServedGroup] {
        &self.groups
    }

    /// One group by name.
    pub fn group(&self, name: &str) -> Option<&ServedGroup> {
        self.groups.iter().find(|g| *g.name == *name)
    }
}

impl ServedGroup {
    /// One version by name.
    pub fn version(&self, name: &str) -> Option<&ServedVersion> {
        self.versions.iter().find(|v| *v.name == *name)
    }
}

/// The first matching element, appended if there is none.
fn find_or_push<T>(
    all: &mut Vec<T>,
    fits: impl Fn(&T) -> bool,
    make: impl FnOnce() -> T,
) -> &mut T {
    let at = all.iter().position(fits).unwrap_or_else(|| {
        all.push(make());
        all.len() - 1
    });
    &mut all[at]
}

/// Compares versions by Kubernetes priority: `v2`, `v1`, `v1beta2`, `v1beta1`, `v1alpha1`, others.
pub(super) fn compare_kube_aware_versions(a: &str, b: &str) -> Ordering {
    match (VersionPriority::of(a), VersionPriority::of(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// The stability level of a version; lower is preferred.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct VersionPriority {
    maturity: u8,
    major: Reverse<u64>,
    minor: Reverse<u64>,
}

impl VersionPriority {
    /// `None` unless the name has the form `v1`, `v1beta2` or `v1alpha1`.
    fn of(name: &str) -> Option<Self> {
        let rest = name.strip_prefix('v')?;
        let digits = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (major, rest) = rest.split_at(digits);
        let (immature, minor) = match (rest.strip_prefix("beta"), rest.strip_prefix("alpha")) {
            (Some(minor), _) => (1, minor),
            (_, Some(minor)) => (2, minor),
            _ if rest.is_empty() => (0, "0"),
            _ => return None,
        };
        let number = |text: &str| {
            let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            plain.then(|| text.parse().ok()).flatten()
        };
        let (major, minor) = (number(major)?, number(minor)?);
        Some(Self {
            maturity: immature,
            major: Reverse(major),
            minor: Reverse(minor),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_maturity_then_number() {
        let mut names = [
            "v1alpha1",
            "foo1",
            "v1",
            "v11beta2",
            "v10",
            "v3beta1",
            "v12alpha1",
            "v2",
            "foo10",
            "v1x",
        ];
        names.sort_by(|a, b| compare_kube_aware_versions(a, b));
        assert_eq!(
            names,
            [
                "v10",
                "v2",
                "v1",
                "v11beta2",
                "v3beta1",
                "v12alpha1",
                "v1alpha1",
                "foo1",
                "foo10",
                "v1x"
            ]
        );
    }
}
