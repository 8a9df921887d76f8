//! `--kubeconfig` and `--context`: the cluster of commands that start none themselves.

use std::path::PathBuf;

use kube::Client;
use kube::config::Kubeconfig;

use super::CommandError;
use super::running_lab::running_lab_kubeconfig;
use kueue_lab_explain::ExplainError;
use kueue_lab_lab::{KubeconfigContext, context_names, read_default_kubeconfig, read_kubeconfig};

/// The flags that select a kubeconfig and a context.
#[derive(Debug, Default, clap::Args)]
pub(super) struct KubeconfigArgs {
    /// The kubeconfig context to use [default: the current one].
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// The kubeconfig file [default: $KUBECONFIG, then that of a running lab, then ~/.kube/config].
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
}

/// A loaded kubeconfig and its origin.
struct KubeconfigSource {
    /// The origin as it appears in messages.
    source: String,
    /// The file; `None` for kubectl's default locations.
    file: Option<PathBuf>,
    config: Kubeconfig,
}

impl KubeconfigArgs {
    /// Whether a flag names the cluster.
    pub(super) fn is_named(&self) -> bool {
        self.context.is_some() || self.kubeconfig.is_some()
    }

    /// A client that renews its credentials, and the name of the context.
    pub(super) async fn connect(&self) -> Result<(Client, String), CommandError> {
        let context = self.context()?;
        let client = context.client().await.map_err(CommandError::usage)?;
        Ok((client, context.name().to_owned()))
    }

    /// The selected context.
    pub(super) fn context(&self) -> Result<KubeconfigContext, CommandError> {
        let KubeconfigSource {
            source,
            file,
            config,
        } = self.load_kubeconfig()?;
        let name = self.context.as_deref();
        KubeconfigContext::from_kubeconfig(config, name, &source, file.as_deref())
            .map_err(CommandError::usage)
    }

    /// The kubeconfig with the selected context.
    fn load_kubeconfig(&self) -> Result<KubeconfigSource, CommandError> {
        if let Some(path) = &self.kubeconfig {
            let source = path.display().to_string();
            let config = read_kubeconfig(path);
            let config = config.map_err(|e| {
                CommandError::usage(e).with_message(format!("cannot use the kubeconfig {source}"))
            })?;
            let found = KubeconfigSource {
                source,
                file: Some(path.clone()),
                config,
            };
            self.find_context(std::slice::from_ref(&found))?;
            return Ok(found);
        }
        let mut found = Vec::new();
        let named = std::env::var_os("KUBECONFIG").is_some_and(|v| !v.is_empty());
        let running_lab = || {
            let path = running_lab_kubeconfig()?;
            let config = read_kubeconfig(&path).ok()?;
            Some(KubeconfigSource {
                source: path.display().to_string(),
                file: Some(path),
                config,
            })
        };
        let default_location = |source: &str, config| KubeconfigSource {
            source: source.to_owned(),
            file: None,
            config,
        };
        if named {
            let config = read_default_kubeconfig();
            let config = config
                .map_err(|e| CommandError::usage(e).with_message("cannot use $KUBECONFIG"))?;
            found.push(default_location("$KUBECONFIG", config));
            found.extend(running_lab());
        } else {
            found.extend(running_lab());
            let config = read_default_kubeconfig().ok();
            found.extend(config.map(|config| default_location("~/.kube/config", config)));
        }
        let index = self.find_context(&found)?;
        Ok(found.swap_remove(index))
    }

    /// The index of the first kubeconfig that has the selected context.
    fn find_context(&self, found: &[KubeconfigSource]) -> Result<usize, CommandError> {
        if found.is_empty() {
            let message = "no cluster found: no lab is running, and there is no kubeconfig";
            let hint = "start a lab with `kueue-lab up`, or name a file with --kubeconfig";
            return Err(CommandError::usage(message).hinting(hint));
        }
        let Some(context) = &self.context else {
            return Ok(0);
        };
        let has = |config: &Kubeconfig| config.contexts.iter().any(|c| c.name == *context);
        found.iter().position(|f| has(&f.config)).ok_or_else(|| {
            let names = context_names(found.iter().flat_map(|f| &f.config.contexts));
            CommandError::usage(format!(
                "there is no context {context:?}; the contexts are: {names}"
            ))
        })
    }
}

/// The error of a command after a failed request for kinds of Kueue: without the right, the credentials or Kueue,
/// the request of the user is invalid.
pub(super) fn request_error(error: &kube::Error) -> CommandError {
    ExplainError::of_request(error).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(contexts: &[&str]) -> Kubeconfig {
        let contexts: Vec<_> = contexts
            .iter()
            .map(|name| serde_json::json!({"name": name, "context": {"cluster": "c", "user": "u"}}))
            .collect();
        serde_json::from_value(serde_json::json!({"contexts": contexts})).unwrap()
    }

    #[test]
    fn the_first_kubeconfig_with_the_context_is_used() {
        let found =
            [("a", &["x", "y"][..]), ("b", &["z"])].map(|(source, contexts)| KubeconfigSource {
                source: source.to_owned(),
                file: None,
                config: config(contexts),
            });
        let target = |context: Option<&str>| KubeconfigArgs {
            context: context.map(str::to_owned),
            kubeconfig: None,
        };
        assert_eq!(target(None).find_context(&found).unwrap(), 0);
        assert_eq!(target(Some("z")).find_context(&found).unwrap(), 1);
        let missing = target(Some("w"))
            .find_context(&found)
            .unwrap_err()
            .to_string();
        assert_eq!(
            missing,
            "there is no context \"w\"; the contexts are: x, y, z"
        );
        assert!(target(None).find_context(&[]).is_err());
    }
}
