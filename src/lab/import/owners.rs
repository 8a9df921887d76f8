//! The jobs between Workloads and Pods, by their owner references.

use std::collections::{BTreeMap, BTreeSet};

use kueue_lab_json::ValueExt;
use serde_json::Value;

/// Group and kind of an owner.
pub(super) type OwnerKind = (String, String);

/// The kinds of the owners of objects.
pub(super) fn owner_kinds<'a>(objects: impl Iterator<Item = &'a Value>) -> BTreeSet<OwnerKind> {
    let references = objects.flat_map(|o| o.list("/metadata/ownerReferences"));
    let kind = |reference: &Value| {
        let api_version = reference.text("/apiVersion");
        let (group, _) = api_version.split_once('/').unwrap_or(("", api_version));
        (group.to_owned(), reference.text("/kind").to_owned())
    };
    references.map(kind).collect()
}

/// The uids of the jobs among `jobs` that own a Workload, and of their ancestors and descendants.
pub(super) fn related_jobs(workloads: &[Value], jobs: &[Value]) -> BTreeSet<String> {
    let owners = |object: &Value| -> Vec<String> {
        let references = object.list("/metadata/ownerReferences").iter();
        references.map(|r| r.text("/uid").to_owned()).collect()
    };
    let parents: BTreeMap<String, Vec<String>> = jobs
        .iter()
        .map(|job| (job.text("/metadata/uid").to_owned(), owners(job)))
        .collect();
    let mut children: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (uid, owners) in &parents {
        for owner in owners {
            children.entry(owner).or_default().push(uid);
        }
    }
    let start: Vec<String> = workloads.iter().flat_map(owners).collect();
    let mut related = BTreeSet::new();
    let mut left: Vec<&str> = start.iter().map(String::as_str).collect();
    while let Some(uid) = left.pop() {
        let Some((uid, owners)) = parents.get_key_value(uid) else {
            continue;
        };
        if related.insert(uid.clone()) {
            left.extend(owners.iter().map(String::as_str));
            left.extend(children.get(uid.as_str()).into_iter().flatten().copied());
        }
    }
    related
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(uid: &str, owner: &str) -> Value {
        json!({"metadata": {"uid": uid, "ownerReferences": [{"apiVersion": "g/v1", "kind": "K", "uid": owner}]}})
    }

    #[test]
    fn ancestors_and_descendants_are_related() {
        let workloads = [object("wl", "set")];
        let jobs = [
            object("set", "pipeline"),
            object("pipeline", "nobody"),
            object("child", "set"),
            object("other", "nobody"),
            object("other-child", "other"),
        ];
        let related: Vec<_> = related_jobs(&workloads, &jobs).into_iter().collect();
        assert_eq!(related, ["child", "pipeline", "set"]);
        let kinds = owner_kinds(workloads.iter());
        assert_eq!(kinds.into_iter().next(), Some(("g".into(), "K".into())));
    }
}
