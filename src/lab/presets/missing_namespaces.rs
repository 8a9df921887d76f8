//! Warnings about namespaces that a folder names and does not contain: they are kept elsewhere.

use std::collections::BTreeSet;

use crate::{Finding, Manifest, ResourceKey};

/// The namespaces that every lab has.
const OF_CLUSTER: [&str; 5] = [
    "default",
    "kube-node-lease",
    "kube-public",
    "kube-system",
    "kueue-system",
];

/// A warning for each namespace of the objects that is not among them, at the first object in it: a lab that only checks
/// the folder creates it.
pub fn missing_namespaces(manifests: &[Manifest]) -> Vec<Finding> {
    let mut known: BTreeSet<&str> = OF_CLUSTER.into();
    let namespaces = manifests.iter().filter(|manifest| {
        manifest.key == ResourceKey::core("Namespace", None, &manifest.key.name)
    });
    known.extend(namespaces.map(|namespace| namespace.key.name.as_str()));
    let mut warnings = Vec::new();
    for manifest in manifests {
        if let Some(namespace) = manifest.key.namespace.as_deref()
            && known.insert(namespace)
        {
            warnings.push(missing_namespace(manifest, namespace));
        }
    }
    warnings
}

/// The warning about the namespace of an object.
pub(crate) fn missing_namespace(manifest: &Manifest, namespace: &str) -> Finding {
    let message = format!("there is no namespace {namespace:?}; it is created in this virtual lab");
    let finding = manifest.warning("metadata.namespace", message);
    finding.remedy("create it before this folder is applied, or add a Namespace object")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SourceFile, parse};

    #[test]
    fn each_namespace_has_one_warning() {
        let of = |kind: &str, name: &str, namespace: &str| {
            format!(
                "kind: {kind}\napiVersion: v1\nmetadata: {{name: {name}, namespace: {namespace}}}\n---\n"
            )
        };
        let text = [
            of("ConfigMap", "a", "team-a"),
            of("ConfigMap", "b", "team-a"),
            of("ConfigMap", "c", "team-b"),
            of("ConfigMap", "d", "default"),
            "kind: Namespace\napiVersion: v1\nmetadata: {name: team-b}\n".to_owned(),
        ];
        let file = SourceFile {
            name: "q.yaml".into(),
            bytes: text.concat().into_bytes(),
        };
        let parsed = parse(&[file], &Default::default());
        let warnings: Vec<String> = missing_namespaces(&parsed.manifests)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            warnings,
            [
                "q.yaml:3:21: ConfigMap/team-a/a: there is no namespace \"team-a\"; it is created in this virtual lab; create it before this folder is applied, or add a Namespace object"
            ]
        );
    }
}
