//! Kubeconfigs of embedded worker clusters.

use kube::config::{Kubeconfig, KubeconfigError};

/// A text is not a kubeconfig.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MergeError {
    /// It cannot be read or merged.
    #[error(transparent)]
    Kubeconfig(#[from] KubeconfigError),
    /// The merged one cannot be written.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// One kubeconfig with the contexts of several; the current context is that of the first.
///
/// # Errors
/// A text is not a kubeconfig.
pub(crate) fn merged_kubeconfig<'a>(
    texts: impl IntoIterator<Item = &'a str>,
) -> Result<String, MergeError> {
    let mut merged = Kubeconfig::default();
    for text in texts {
        let next = Kubeconfig::from_yaml(text)?;
        merged = merged.merge(next)?;
    }
    // JSON is YAML, and keeps the names of the fields.
    Ok(serde_json::to_string_pretty(&merged)?)
}

/// The kubeconfig of a worker without a listener: only clients of this process reach it.
pub(crate) fn kubeconfig_without_listener(name: &str) -> String {
    serde_json::json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "clusters": [{"name": name, "cluster": {"server": format!("https://{name}:6443")}}],
        "users": [{"name": name, "user": {"token": name}}],
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merged_kubeconfig_has_all_contexts() {
        let texts = ["kueue-lab", "worker1"].map(kubeconfig_without_listener);
        let merged = merged_kubeconfig(texts.iter().map(String::as_str)).unwrap();
        let merged = Kubeconfig::from_yaml(&merged).unwrap();
        let names: Vec<_> = merged.contexts.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["kueue-lab", "worker1"]);
        assert_eq!(merged.current_context.as_deref(), Some("kueue-lab"));
        assert_eq!(merged.auth_infos.len(), 2);
    }
}
