//! The settings of a preset: the files beside its objects that configure the lab.

use kueue_lab_api::config;

use super::folder::SourceFile;

/// The settings of a preset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PresetSettings {
    /// `kueue.yaml`: Kueue's configuration.
    pub configuration: Option<SourceFile>,
    /// `nodes.yaml`: the node pools.
    pub nodes: Option<SourceFile>,
    /// `clusters.yaml`: the worker clusters of MultiKueue.
    pub clusters: Option<SourceFile>,
}

impl PresetSettings {
    /// Takes the settings out of the files of a preset. A file of these names that holds objects of the
    /// cluster stays among the files.
    pub(super) fn take_from(files: &mut Vec<SourceFile>) -> Self {
        let mut take = |stem: &str, is_settings: fn(&str) -> bool| {
            let index = files.iter().position(|file| {
                let text = String::from_utf8_lossy(&file.bytes);
                file.stem() == stem && is_settings(&text)
            })?;
            Some(files.remove(index))
        };
        Self {
            configuration: take("kueue", is_configuration),
            nodes: take("nodes", is_no_object),
            clusters: take("clusters", is_no_object),
        }
    }
}

impl SourceFile {
    /// The name without folder and extension.
    pub(super) fn stem(&self) -> &str {
        let name = self.name.rsplit('/').next().unwrap_or_default();
        let stem = name.strip_suffix(".yaml");
        stem.or_else(|| name.strip_suffix(".yml")).unwrap_or(name)
    }
}

/// Whether a text is a configuration, also while it is not valid YAML.
fn is_configuration(text: &str) -> bool {
    text.contains(config::GROUP) || text.contains(config::CONFIG_MAP_KEY)
}

/// Whether a text has content and is no object of a cluster.
fn is_no_object(text: &str) -> bool {
    !text.trim().is_empty() && !text.lines().any(|line| line.starts_with("kind:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_recognized_by_name_and_content() {
        let file = |name: &str, text: &str| SourceFile {
            name: format!("p/{name}"),
            bytes: text.into(),
        };
        let queues = file(
            "kueue.yaml",
            "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\n",
        );
        let configuration = file(
            "kueue.yml",
            "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nfairSharing: {\n",
        );
        let nodes = file("nodes.yaml", "pools:\n- name: a\n");
        let node = file("nodes.yml", "kind: Node\n");
        let mut files = vec![
            queues.clone(),
            configuration.clone(),
            nodes.clone(),
            node.clone(),
        ];
        let settings = PresetSettings::take_from(&mut files);
        assert_eq!(settings.configuration, Some(configuration));
        assert_eq!(settings.nodes, Some(nodes));
        assert_eq!(settings.clusters, None);
        assert_eq!(files, [queues, node]);
    }
}
