//! One immutable table of everything served, for lookups and discovery.

use std::collections::HashMap;
use std::sync::Arc;

use super::Served;

/// All groups, in the order discovery lists them.
#[derive(Debug, Default)]
pub struct Table {
    groups: Vec<Group>,
    paths: HashMap<String, Arc<Served>>,
}

/// One API group.
#[derive(Debug)]
pub struct Group {
    /// Empty for core.
    pub name: Arc<str>,
    /// The versions, preferred first.
    pub versions: Vec<Version>,
}

/// One version of a group.
#[derive(Debug)]
pub struct Version {
    /// Such as `v1`.
    pub name: Arc<str>,
    /// The resources, by plural name.
    pub resources: Vec<Arc<Served>>,
}

fn path(group: &str, version: &str, plural: &str) -> String {
    let mut path = String::with_capacity(group.len() + version.len() + plural.len() + 2);
    path.extend([group, "/", version, "/", plural]);
    path
}

impl Table {
    /// Groups and versions come in the order of their first kind.
    pub(super) fn new(all: Vec<Arc<Served>>) -> Self {
        let mut table = Self::default();
        for served in all {
            let kind = &served.kind;
            let key = path(&kind.group, &kind.version, &kind.plural);
            table.paths.insert(key, served.clone());
            let group = entry(
                &mut table.groups,
                |g| g.name == kind.group,
                || Group {
                    name: kind.group.clone(),
                    versions: Vec::new(),
                },
            );
            let version = entry(
                &mut group.versions,
                |v| v.name == kind.version,
                || Version {
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
        table
    }

    /// Finds a resource by its place in a path.
    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Served>> {
        self.paths.get(&path(group, version, plural))
    }

    /// All groups, core first.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// One group by name.
    pub fn group(&self, name: &str) -> Option<&Group> {
        self.groups.iter().find(|g| *g.name == *name)
    }
}

impl Group {
    /// One version by name.
    pub fn version(&self, name: &str) -> Option<&Version> {
        self.versions.iter().find(|v| *v.name == *name)
    }
}

/// The first element that fits, appended when there is none.
fn entry<T>(all: &mut Vec<T>, fits: impl Fn(&T) -> bool, make: impl FnOnce() -> T) -> &mut T {
    let at = all.iter().position(fits).unwrap_or_else(|| {
        all.push(make());
        all.len() - 1
    });
    &mut all[at]
}
