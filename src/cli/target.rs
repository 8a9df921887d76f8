//! Which cluster a command speaks to that starts none itself: `--kubeconfig` and `--context`.

use std::path::PathBuf;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use super::Failure;
use crate::lab::{causes, names, state_dir};

/// Where to find the cluster.
#[derive(Debug, Default, clap::Args)]
pub(super) struct Target {
    /// The kubeconfig context to use [default: the current one].
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// The kubeconfig file [default: $KUBECONFIG, then that of a running lab, then ~/.kube/config].
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
}

impl Target {
    /// Whether the cluster was named rather than found.
    pub(super) fn is_named(&self) -> bool {
        self.context.is_some() || self.kubeconfig.is_some()
    }

    /// A client of the cluster, and what its context is called.
    pub(super) async fn connect(&self) -> Result<(Client, String), Failure> {
        let (config, name) = self.config().await?;
        Ok((client(config, &name)?, name))
    }

    /// How to get to the cluster, and what its context is called.
    pub(super) async fn config(&self) -> Result<(Config, String), Failure> {
        let (source, config) = self.choose()?;
        let context = self.context.clone().or(config.current_context.clone());
        let name = context.clone().unwrap_or_else(|| "cluster".into());
        let options = KubeConfigOptions {
            context,
            ..KubeConfigOptions::default()
        };
        let config = Config::from_custom_kubeconfig(config, &options).await;
        let config = config.map_err(|e| {
            Failure::Usage(format!("{source}: {e}; choose a context with --context"))
        })?;
        Ok((config, name))
    }

    /// The kubeconfig to use and what it is called.
    fn choose(&self) -> Result<(String, Kubeconfig), Failure> {
        if let Some(path) = &self.kubeconfig {
            let source = path.display().to_string();
            let config = Kubeconfig::read_from(path)
                .map_err(|e| Failure::Usage(format!("cannot use the kubeconfig {source}: {e}")))?;
            self.check(std::slice::from_ref(&(source.clone(), config.clone())))?;
            return Ok((source, config));
        }
        let mut found = Vec::new();
        let named = std::env::var_os("KUBECONFIG").is_some_and(|v| !v.is_empty());
        let own = || {
            let path = state_dir().join("kubeconfig");
            let config = Kubeconfig::read_from(&path).ok()?;
            Some((path.display().to_string(), config))
        };
        let usual = || match (Kubeconfig::read(), named) {
            (Ok(config), true) => Ok(Some(("$KUBECONFIG".to_owned(), config))),
            (Ok(config), false) => Ok(Some(("~/.kube/config".to_owned(), config))),
            (Err(e), true) => Err(Failure::Usage(format!("cannot use $KUBECONFIG: {e}"))),
            (Err(_), false) => Ok(None),
        };
        if named {
            found.extend(usual()?);
            found.extend(own());
        } else {
            found.extend(own());
            found.extend(usual()?);
        }
        let index = self.check(&found)?;
        Ok(found.swap_remove(index))
    }

    /// Which of several kubeconfigs has the context asked for.
    fn check(&self, found: &[(String, Kubeconfig)]) -> Result<usize, Failure> {
        if found.is_empty() {
            let message = "there is no cluster to talk to: no lab runs, and there is no kubeconfig; start one with `kueue-lab up`, or name a file with --kubeconfig";
            return Err(Failure::Usage(message.into()));
        }
        let Some(context) = &self.context else {
            return Ok(0);
        };
        let has = |config: &Kubeconfig| config.contexts.iter().any(|c| c.name == *context);
        found.iter().position(|(_, c)| has(c)).ok_or_else(|| {
            let names = names(found.iter().flat_map(|(_, c)| &c.contexts));
            Failure::Usage(format!(
                "there is no context {context:?}; there are: {names}"
            ))
        })
    }
}

/// A client of the cluster of that name.
pub(super) fn client(config: Config, name: &str) -> Result<Client, Failure> {
    Client::try_from(config).map_err(|e| Failure::Usage(format!("cannot use {name}: {e}")))
}

/// What a failed call to the cluster means to a person.
pub(super) fn said(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if status.code == 401 || status.code == 403 => {
            format!("the cluster refuses: {}", status.message)
        }
        kube::Error::Api(status) => status.message.clone(),
        other => format!("the cluster does not answer: {}", causes(other)),
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
        let found = [
            ("a".to_owned(), config(&["x", "y"])),
            ("b".to_owned(), config(&["z"])),
        ];
        let target = |context: Option<&str>| Target {
            context: context.map(str::to_owned),
            kubeconfig: None,
        };
        assert_eq!(target(None).check(&found).unwrap(), 0);
        assert_eq!(target(Some("z")).check(&found).unwrap(), 1);
        let missing = target(Some("w")).check(&found).unwrap_err().to_string();
        assert_eq!(missing, "there is no context \"w\"; there are: x, y, z");
        assert!(target(None).check(&[]).is_err());
    }
}
