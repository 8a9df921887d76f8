//! Which cluster `up` runs on, and whether it may.

use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;

use super::failure;
use crate::cli::Failure;
use crate::lab::{OneContext, Remote};

/// Where to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ClusterChoice {
    /// A Kubernetes API in this process.
    Embedded,
    /// The cluster of a kubeconfig context.
    Context(String),
}

impl ClusterChoice {
    /// Reads the value of `--cluster`.
    ///
    /// # Errors
    /// What it may be.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "embedded" => Ok(Self::Embedded),
            Some(("context", name)) if !name.is_empty() => Ok(Self::Context(name.to_owned())),
            _ => Err("a cluster is embedded or context:NAME".to_owned()),
        }
    }
}

/// What else is said about the cluster.
#[derive(Debug, clap::Args)]
pub(super) struct Asked {
    /// With --cluster context:NAME: the kubeconfig file [default: $KUBECONFIG, then ~/.kube/config].
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// With --cluster context:NAME: write to the cluster without asking first.
    #[arg(long, short)]
    yes: bool,
}

impl Asked {
    /// Refuses what does not go together.
    pub(super) fn check(&self, choice: &ClusterChoice, speed: f64) -> Result<(), Failure> {
        let refuse = |message: &str| Err(Failure::Usage(message.to_owned()));
        match choice {
            ClusterChoice::Embedded if self.kubeconfig.is_some() => refuse(
                "--kubeconfig says where to find a cluster, so it needs --cluster context:NAME; to choose where the embedded cluster's is written, use --kubeconfig-out",
            ),
            ClusterChoice::Context(_) if speed != 1.0 => refuse(
                "--speed is for the embedded cluster; time on any other passes as it does everywhere",
            ),
            _ => Ok(()),
        }
    }

    /// Reaches the cluster and asks whether it may be written to. Writes nothing yet.
    pub(super) async fn reach(&self, choice: &ClusterChoice) -> Result<Option<Remote>, Failure> {
        let name = match choice {
            ClusterChoice::Embedded => return Ok(None),
            ClusterChoice::Context(name) => name,
        };
        let context = OneContext::find(name, self.kubeconfig.as_deref());
        let context = context.map_err(|e| failure(e.into()))?;
        let remote = Remote::connect(context).await;
        let remote = remote.map_err(|e| failure(e.into()))?;
        if !self.yes {
            self.ask(&remote)?;
        }
        Ok(Some(remote))
    }

    /// Asks a person. Without one the answer is no.
    fn ask(&self, remote: &Remote) -> Result<(), Failure> {
        let what = format!(
            "cluster {} ({}, Kubernetes {})",
            remote.name(),
            remote.server(),
            remote.version()
        );
        if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
            let message = format!(
                "nothing was written to {what}: there is no terminal to ask on; say --yes to go ahead"
            );
            return Err(Failure::Usage(message));
        }
        let mut out = std::io::stderr().lock();
        let asked = write!(
            out,
            "The lab will put Kueue's kinds, its admission controller's webhooks, virtual nodes and\n\
             the objects of a preset into {what}.\n`kueue-lab down` and `kueue-lab uninstall` take them away again. Go ahead? [y/N] "
        );
        let mut answer = String::new();
        asked
            .and_then(|()| out.flush())
            .and_then(|()| std::io::stdin().lock().read_line(&mut answer))
            .map_err(Failure::failed)?;
        match answer.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => Ok(()),
            _ => Err(Failure::Usage(format!("nothing was written to {what}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_are_named() {
        let parse = ClusterChoice::parse;
        assert_eq!(parse("embedded"), Ok(ClusterChoice::Embedded));
        assert_eq!(
            parse("context:arn:aws:eks"),
            Ok(ClusterChoice::Context("arn:aws:eks".into()))
        );
        assert!(parse("context:").is_err());
        assert!(parse("minikube").is_err());
    }
}
