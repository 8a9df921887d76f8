//! The adapters of all kinds, as a table.

use kube::core::{ApiResource, GroupVersionKind};

use super::adapter::{Adapter, ManagedBy, Sync};
use crate::jobs::integration_callbacks::INTEGRATIONS;
use crate::jobs::integration_manager::Gvk;
use crate::settings::Settings;
use kueue_lab_api::config::{FRAMEWORKS, Feature, Framework};

/// The adapters of enabled integrations, then those of external frameworks.
pub(crate) fn multikueue_adapters(settings: &Settings) -> Vec<Adapter> {
    let configuration = &settings.configuration;
    let enabled = configuration
        .integrations
        .iter()
        .flat_map(|integrations| &integrations.frameworks);
    let enabled: Vec<&String> = enabled.collect();
    let built_in = FRAMEWORKS
        .iter()
        .filter(|framework| enabled.iter().any(|name| **name == framework.name));
    let mut adapters: Vec<Adapter> = built_in.filter_map(built_in_adapter).collect();
    if settings.enabled(Feature::MultiKueueAdaptersForCustomJobs) {
        let external = configuration
            .multi_kueue
            .iter()
            .flat_map(|multi_kueue| &multi_kueue.external_frameworks);
        adapters.extend(external.filter_map(|framework| external_adapter(&framework.name)));
    }
    adapters
}

fn built_in_adapter(framework: &Framework) -> Option<Adapter> {
    let mut integrations = INTEGRATIONS.iter();
    let sync = integrations
        .find(|integration| integration.framework == framework.name)?
        .multi_kueue?;
    let gvk = Gvk::new(framework.group, framework.version, framework.kind);
    let resource = ApiResource {
        group: framework.group.to_owned(),
        version: framework.version.to_owned(),
        api_version: gvk.api_version(),
        kind: framework.kind.to_owned(),
        plural: framework.resource.to_owned(),
    };
    Some(Adapter {
        resource,
        gvk,
        sync,
    })
}

/// The adapter of `Kind.version.group.com`. None if the text has another form, which validation of
/// the configuration rejects.
fn external_adapter(name: &str) -> Option<Adapter> {
    let (kind, rest) = name.split_once('.')?;
    let (version, group) = rest.split_once('.')?;
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    let owned = |text: &str| text.to_owned().into();
    Some(Adapter {
        resource,
        gvk: Gvk {
            group: owned(group),
            version: owned(version),
            kind: owned(kind),
        },
        sync: Sync::CopyStatus(ManagedBy {
            path: &["managedBy"],
            named: ".spec.managedBy",
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_external_framework_is_named_kind_version_group() {
        let adapter = external_adapter("Pipeline.v1.tekton.dev").unwrap();
        assert_eq!(adapter.gvk.to_string(), "tekton.dev/v1, Kind=Pipeline");
        assert_eq!(adapter.resource.plural, "pipelines");
        assert!(external_adapter("Pipeline").is_none());
    }
}
