//! Naming controller: the conditions NamesAccepted and Established.

use serde_json::Value;

use super::api_approval::set_api_approval_condition;
use super::condition::Condition;
use super::sync::crds_of_group;
use crate::registry::CrdNames;
use crate::server_state::ServerState;
use kueue_lab_apiextensions::crd::definition_validation::add_stored_version;
use kueue_lab_apimachinery::object_meta;

/// Accepts the names of a definition that do not conflict and sets NamesAccepted and Established.
pub(super) fn sync_names(core: &ServerState, name: &str, definition: &mut Value) {
    let group = definition["spec"]["group"]
        .as_str()
        .unwrap_or_default()
        .to_string();
    let now = object_meta::metav1_time(core.clock.now());
    let (mut resources, mut kinds) = (Vec::new(), Vec::new());
    for other in crds_of_group(core, &group)
        .iter()
        .filter(|o| o.key() != name)
    {
        let names = CrdNames::of(&other.value()["status"]["acceptedNames"]);
        resources.extend([names.plural, names.singular]);
        resources.extend(names.short_names);
        kinds.extend([names.kind, names.list_kind]);
    }
    let wanted = CrdNames::of(&definition["spec"]["names"]);
    let accepted = CrdNames::of(&definition["status"]["acceptedNames"]);
    let (names, conflict) = calculate_names(&wanted, accepted, &resources, &kinds);
    let names_accepted = conflict.is_none();
    let (reason, message) =
        conflict.unwrap_or_else(|| ("NoConflicts", "no conflicts found".into()));
    let status = &mut definition["status"];
    Condition {
        condition_type: "NamesAccepted",
        status: names_accepted,
        reason,
        message,
    }
    .set(status, &now);
    status["acceptedNames"] = names.to_value();
    let established = status["conditions"].as_array().is_some_and(|all| {
        all.iter()
            .any(|c| c["type"] == "Established" && c["status"] == "True")
    });
    if names_accepted && !established {
        let message = "the initial names have been accepted".into();
        let reason = "InitialNamesAccepted";
        Condition {
            condition_type: "Established",
            status: true,
            reason,
            message,
        }
        .set(status, &now);
    } else if !established {
        let message = "not all names are accepted".into();
        let reason = "NotAccepted";
        Condition {
            condition_type: "Established",
            status: false,
            reason,
            message,
        }
        .set(status, &now);
    }
    set_api_approval_condition(definition, &group, &now);
    add_stored_version(definition);
}

/// The accepted names of a definition and the first name conflict.
fn calculate_names(
    wanted: &CrdNames,
    mut accepted: CrdNames,
    resources: &[String],
    kinds: &[String],
) -> (CrdNames, Option<(&'static str, String)>) {
    let mut conflict = None;
    let taken = |name: &str, all: &[String]| all.iter().any(|n| n == name && !n.is_empty());
    let mut claim = |own: &mut String, name: &str, all: &[String], reason: &'static str| {
        if own != name && taken(name, all) {
            conflict = Some((reason, format!("{name:?} is already in use")));
        } else {
            *own = name.to_string();
        }
    };
    claim(
        &mut accepted.plural,
        &wanted.plural,
        resources,
        "PluralConflict",
    );
    claim(
        &mut accepted.singular,
        &wanted.singular,
        resources,
        "SingularConflict",
    );
    claim(&mut accepted.kind, &wanted.kind, kinds, "KindConflict");
    claim(
        &mut accepted.list_kind,
        &wanted.list_kind,
        kinds,
        "ListKindConflict",
    );
    let new_short_names = wanted
        .short_names
        .iter()
        .filter(|n| !accepted.short_names.contains(n));
    let conflicts: Vec<String> = new_short_names
        .filter(|n| taken(n, resources))
        .map(|n| format!("{n:?} is already in use"))
        .collect();
    match conflicts.as_slice() {
        [] => accepted.short_names.clone_from(&wanted.short_names),
        [one] => conflict = Some(("ShortNamesConflict", one.clone())),
        many => conflict = Some(("ShortNamesConflict", format!("[{}]", many.join(", ")))),
    }
    accepted.categories.clone_from(&wanted.categories);
    (accepted, conflict)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(plural: &str, kind: &str, short: &[&str]) -> CrdNames {
        CrdNames {
            plural: plural.into(),
            singular: kind.to_lowercase(),
            kind: kind.into(),
            list_kind: format!("{kind}List"),
            short_names: short.iter().map(ToString::to_string).collect(),
            categories: Vec::new(),
        }
    }

    #[test]
    fn names_in_use_are_not_accepted_and_own_names_stay() {
        let wanted = names("widgets", "Widget", &["w", "wd"]);
        let (got, conflict) = calculate_names(&wanted, CrdNames::default(), &[], &[]);
        assert_eq!((got, conflict), (wanted.clone(), None));

        let taken = ["w".to_string(), "widget".to_string()];
        let (got, conflict) = calculate_names(&wanted, CrdNames::default(), &taken, &[]);
        assert_eq!(
            (got.plural.as_str(), got.singular.as_str()),
            ("widgets", "")
        );
        assert_eq!(
            conflict,
            Some(("ShortNamesConflict", "\"w\" is already in use".into()))
        );

        // Names that are already accepted stay accepted.
        let (_, conflict) = calculate_names(&wanted, wanted.clone(), &taken, &["Widget".into()]);
        assert_eq!(conflict, None);
    }
}
