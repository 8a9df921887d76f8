//! The objects of the cluster that the plan of a preset needs.

use std::path::Path;

use kueue_lab_api::config::{Configuration, FeatureGates, LoadedConfiguration, load};
use kueue_lab_import::{ChangeScope, ObjectName};
use kueue_lab_presets::{parse, read};

/// The objects and the configuration of a preset. Files that are not valid count as empty: they are reported when
/// the preset is applied.
pub fn change_scope(folder: &Path, preset: &str) -> ChangeScope {
    let Ok(source) = read(folder, preset) else {
        return ChangeScope::default();
    };
    let loaded = source.settings.configuration.as_ref().and_then(|file| {
        let text = std::str::from_utf8(&file.bytes).ok()?;
        load(text).ok()
    });
    let (configuration, gates): (Option<Configuration>, FeatureGates) = match loaded {
        Some(LoadedConfiguration {
            configuration,
            gates,
            ..
        }) => (Some(configuration), gates),
        None => (None, FeatureGates::default()),
    };
    let manifests = parse(&source.files, &gates).manifests.into_iter();
    let objects = manifests.map(|manifest| ObjectName {
        api_version: manifest.api_version,
        kind: manifest.key.kind,
        namespace: manifest.key.namespace.unwrap_or_default(),
        name: manifest.key.name,
    });
    ChangeScope {
        objects: objects.collect(),
        configuration,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_objects_of_the_files_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let role =
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\n";
        let account =
            "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a, namespace: team}\n";
        std::fs::write(folder.path().join("objects.yaml"), [role, account].concat()).unwrap();
        let names = kueue_lab_presets::list(folder.path()).unwrap();
        let scope = change_scope(folder.path(), &names[0]);
        let mut objects: Vec<(&str, &str)> = scope
            .objects
            .iter()
            .map(|object| (object.group(), object.namespace.as_str()))
            .collect();
        objects.sort_unstable();
        assert_eq!(objects, [("", "team"), ("rbac.authorization.k8s.io", "")]);
        assert!(scope.configuration.is_none());
        assert!(change_scope(folder.path(), "missing").objects.is_empty());
    }
}
