//! Which cluster a command speaks to that starts none itself: `--kubeconfig` and `--context`.

use std::path::PathBuf;

use kube::Client;
use kube::config::Kubeconfig;

use super::CliError;
use kueue_lab_lab::{KubeconfigContext, context_names, error_chain, state_dir};

/// Where to find the cluster.
#[derive(Debug, Default, clap::Args)]
pub(super) struct KubeconfigArgs {
    /// The kubeconfig context to use [default: the current one].
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// The kubeconfig file [default: $KUBECONFIG, then that of a running lab, then ~/.kube/config].
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
}

/// A kubeconfig.
struct KubeconfigSource {
    /// What it is called.
    source: String,
    /// Its file; none for where `kubectl` looks.
    file: Option<PathBuf>,
    config: Kubeconfig,
}

impl KubeconfigArgs {
    /// Whether the cluster was named rather than found.
    pub(super) fn is_named(&self) -> bool {
        self.context.is_some() || self.kubeconfig.is_some()
    }

    /// A client of the cluster that keeps its credentials good, and what its context is called.
    pub(super) async fn connect(&self) -> Result<(Client, String), CliError> {
        let context = self.context()?;
        let client = context.client().await.map_err(CliError::usage)?;
        Ok((client, context.name().to_owned()))
    }

    /// The context of the cluster.
    pub(super) fn context(&self) -> Result<KubeconfigContext, CliError> {
        let KubeconfigSource {
            source,
            file,
            config,
        } = self.load_kubeconfig()?;
        let name = self.context.as_deref();
        KubeconfigContext::from_kubeconfig(config, name, &source, file.as_deref())
            .map_err(CliError::usage)
    }

    /// The kubeconfig to use.
    fn load_kubeconfig(&self) -> Result<KubeconfigSource, CliError> {
        if let Some(path) = &self.kubeconfig {
            let source = path.display().to_string();
            let config = Kubeconfig::read_from(path);
            let config = config.map_err(|e| {
                CliError::Usage(format!(
                    "cannot use the kubeconfig {source}: {}",
                    error_chain(&e)
                ))
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
        let own = || {
            let path = state_dir().join("kubeconfig");
            let config = Kubeconfig::read_from(&path).ok()?;
            Some(KubeconfigSource {
                source: path.display().to_string(),
                file: Some(path),
                config,
            })
        };
        let usual = |source: &str, config| KubeconfigSource {
            source: source.to_owned(),
            file: None,
            config,
        };
        if named {
            let config = Kubeconfig::read();
            let config = config.map_err(|e| {
                CliError::Usage(format!("cannot use $KUBECONFIG: {}", error_chain(&e)))
            })?;
            found.push(usual("$KUBECONFIG", config));
            found.extend(own());
        } else {
            found.extend(own());
            let config = Kubeconfig::read().ok();
            found.extend(config.map(|config| usual("~/.kube/config", config)));
        }
        let index = self.find_context(&found)?;
        Ok(found.swap_remove(index))
    }

    /// Which of several kubeconfigs has the context asked for.
    fn find_context(&self, found: &[KubeconfigSource]) -> Result<usize, CliError> {
        if found.is_empty() {
            let message = "there is no cluster to talk to: no lab runs, and there is no kubeconfig; start one with `kueue-lab up`, or name a file with --kubeconfig";
            return Err(CliError::Usage(message.into()));
        }
        let Some(context) = &self.context else {
            return Ok(0);
        };
        let has = |config: &Kubeconfig| config.contexts.iter().any(|c| c.name == *context);
        found.iter().position(|f| has(&f.config)).ok_or_else(|| {
            let names = context_names(found.iter().flat_map(|f| &f.config.contexts));
            CliError::Usage(format!(
                "there is no context {context:?}; there are: {names}"
            ))
        })
    }
}

/// What a failed call to the cluster means to a person.
pub(super) fn error_message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if status.code == 401 || status.code == 403 => {
            format!("the cluster refuses: {}", status.message)
        }
        kube::Error::Api(status) => status.message.clone(),
        other => format!("the cluster does not answer: {}", error_chain(other)),
    }
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
    fn the_first_file_with_the_context_is_taken() {
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
        assert_eq!(missing, "there is no context \"w\"; there are: x, y, z");
        assert!(target(None).find_context(&[]).is_err());
    }
}
