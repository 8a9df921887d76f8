//! Credential plugins (`users[].user.exec` of a kubeconfig): the programs that clouds give their users
//! instead of a token or a certificate.
//!
//! They are run here rather than by the client library, which runs one several times for each client
//! and lets it write to the terminal at any time: that has a UI on it.

use std::process::Stdio;
use std::time::Duration;

use jiff::Timestamp;
use kube::config::{Cluster, ExecAuthCluster, ExecConfig, ExecInteractiveMode};
use serde::Deserialize;
use serde_json::json;
use tokio::process::Command;

/// A plugin that may ask a person has this long.
const INTERACTIVE_TIMEOUT: Duration = Duration::from_secs(300);
/// A plugin that may not.
const NON_INTERACTIVE_TIMEOUT: Duration = Duration::from_secs(60);
/// So much of a plugin's complaint is repeated.
const COMPLAINT: usize = 300;

/// Whether a plugin may speak to the person at the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interactivity {
    /// It may, where there is a terminal: nothing of ours is on the screen yet.
    Interactive,
    /// It must not.
    NonInteractive,
}

/// What a plugin gave.
#[derive(Default)]
pub(crate) struct PluginCredentials {
    /// A bearer token.
    pub(crate) token: Option<String>,
    /// A client certificate and its key (PEM).
    pub(crate) certificate: Option<(String, String)>,
    /// When it ends, if the plugin says so.
    pub(crate) expires: Option<Timestamp>,
}

/// Why a plugin gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum ExecPluginError {
    /// The kubeconfig names no program.
    #[error("its kubeconfig names no command for the credential plugin")]
    NoCommand,
    /// The program cannot be started.
    #[error("its credential plugin {plugin:?} cannot be run: {reason}; {remedy}")]
    Start {
        /// The program, as the kubeconfig names it.
        plugin: String,
        /// What the operating system said.
        reason: String,
        /// What the kubeconfig says about how to get it, or what to do otherwise.
        remedy: String,
    },
    /// It ended badly.
    #[error(
        "its credential plugin {plugin:?} failed ({status}): {complaint}; sign in again and repeat"
    )]
    Failed {
        /// The program, as the kubeconfig names it.
        plugin: String,
        /// How it ended.
        status: String,
        /// The last it said.
        complaint: String,
    },
    /// It took too long.
    #[error(
        "its credential plugin {plugin:?} did not answer within {seconds} s; run it by hand to see what it waits for"
    )]
    TimedOut {
        /// The program, as the kubeconfig names it.
        plugin: String,
        /// How long it had.
        seconds: u64,
    },
    /// It wants to ask a person where it cannot.
    #[error(
        "its credential plugin {plugin:?} has to ask a person, and there is no terminal for that; sign in where there is one"
    )]
    NotInteractive {
        /// The program, as the kubeconfig names it.
        plugin: String,
    },
    /// What it printed holds no credentials.
    #[error(
        "its credential plugin {plugin:?} gave no usable ExecCredential: {reason}; is it up to date?"
    )]
    InvalidCredential {
        /// The program, as the kubeconfig names it.
        plugin: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// What a plugin prints. Never shown to anybody.
#[derive(Deserialize)]
struct ExecCredential {
    #[serde(rename = "apiVersion")]
    api_version: Option<String>,
    status: Option<Status>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    expiration_timestamp: Option<String>,
    token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
}

/// Runs the plugin of a context's user for its cluster.
///
/// # Errors
/// [`ExecPluginError`], in words that follow the name of the context.
pub(crate) async fn run_exec_plugin(
    exec: &ExecConfig,
    cluster: Option<&Cluster>,
    manner: Interactivity,
) -> Result<PluginCredentials, ExecPluginError> {
    let plugin = exec.command.clone().filter(|command| !command.is_empty());
    let plugin = plugin.ok_or(ExecPluginError::NoCommand)?;
    let mode = exec.interactive_mode.as_ref();
    let with_person = manner == Interactivity::Interactive
        && mode != Some(&ExecInteractiveMode::Never)
        && std::io::IsTerminal::is_terminal(&std::io::stdin());
    if !with_person && mode == Some(&ExecInteractiveMode::Always) {
        return Err(ExecPluginError::NotInteractive { plugin });
    }
    let told = match exec.provide_cluster_info {
        true => cluster.map(ExecAuthCluster::try_from).transpose(),
        false => Ok(None),
    };
    let told = told.map_err(|e| ExecPluginError::InvalidCredential {
        plugin: plugin.clone(),
        reason: e.to_string(),
    })?;
    let mut spec = json!({"interactive": with_person});
    if let Some(told) = told {
        spec["cluster"] = json!(told);
    }
    let info = json!({"kind": "ExecCredential", "apiVersion": exec.api_version, "spec": spec});
    let mut command = Command::new(&plugin);
    command
        .args(exec.args.iter().flatten())
        .envs(exec.env.iter().flatten().filter_map(|pair| {
            let (name, value) = (pair.get("name")?, pair.get("value")?);
            // The operating system knows no other names and values.
            let fits = !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0');
            fits.then_some((name, value))
        }))
        .env("KUBERNETES_EXEC_INFO", info.to_string())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    match with_person {
        true => command.stdin(Stdio::inherit()).stderr(Stdio::inherit()),
        false => command.stdin(Stdio::null()).stderr(Stdio::piped()),
    };
    let started = command.spawn().map_err(|e| ExecPluginError::Start {
        reason: match e.kind() {
            std::io::ErrorKind::NotFound => "there is no such program".to_owned(),
            _ => e.to_string(),
        },
        remedy: remedy(exec),
        plugin: plugin.clone(),
    })?;
    let limit = if with_person {
        INTERACTIVE_TIMEOUT
    } else {
        NON_INTERACTIVE_TIMEOUT
    };
    let ended = tokio::time::timeout(limit, started.wait_with_output()).await;
    let ended = ended.map_err(|_| ExecPluginError::TimedOut {
        plugin: plugin.clone(),
        seconds: limit.as_secs(),
    })?;
    let output = ended.map_err(|e| ExecPluginError::Start {
        plugin: plugin.clone(),
        reason: e.to_string(),
        remedy: remedy(exec),
    })?;
    if !output.status.success() {
        return Err(ExecPluginError::Failed {
            plugin,
            status: output.status.to_string(),
            complaint: last_stderr_line(&output.stderr),
        });
    }
    read(exec, &output.stdout)
        .map_err(|reason| ExecPluginError::InvalidCredential { plugin, reason })
}

/// What to do about a program that is not there, in one line.
fn remedy(exec: &ExecConfig) -> String {
    let hint = exec.install_hint.as_deref().unwrap_or_default();
    let hint = one_line(hint.lines());
    match hint.is_empty() {
        true => "install it, or put it on PATH".to_owned(),
        false => hint,
    }
}

/// The last thing a program said before it gave up.
fn last_stderr_line(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let last = text.lines().rfind(|line| !line.trim().is_empty());
    match one_line(last) {
        line if line.is_empty() => "it did not say why".to_owned(),
        line => line,
    }
}

/// Lines as one, short enough to be read and without what a terminal would act upon.
fn one_line<'a>(lines: impl IntoIterator<Item = &'a str>) -> String {
    let lines = lines.into_iter().map(str::trim);
    let lines: Vec<_> = lines.filter(|line| !line.is_empty()).collect();
    let plain = lines.join(" ");
    let plain = plain.chars().filter(|c| !c.is_control()).take(COMPLAINT);
    plain.collect::<String>().trim_end_matches('.').to_owned()
}

/// Reads what a plugin printed. JSON, or YAML as some have it.
fn read(exec: &ExecConfig, printed: &[u8]) -> Result<PluginCredentials, String> {
    // What cannot be read may be a secret; neither it nor a part of it is repeated.
    let credential: ExecCredential =
        serde_yaml::from_slice(printed).map_err(|_| "it is neither JSON nor YAML".to_owned())?;
    let wanted = exec.api_version.as_deref();
    if let (Some(wanted), Some(got)) = (wanted, credential.api_version.as_deref())
        && wanted != got
    {
        return Err(format!("it is of {got:?}, the kubeconfig wants {wanted:?}"));
    }
    let status = credential.status.ok_or("it has no status")?;
    let given = |text: Option<String>| text.filter(|text| !text.is_empty());
    let expires = given(status.expiration_timestamp);
    let expires = expires.map(|text| {
        let time = text.parse::<Timestamp>();
        time.map_err(|_| format!("expirationTimestamp {text:?} is no time"))
    });
    let certificate = match (
        given(status.client_certificate_data),
        given(status.client_key_data),
    ) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        _ => return Err("a certificate and its key belong together".to_owned()),
    };
    let granted = PluginCredentials {
        token: given(status.token),
        certificate,
        expires: expires.transpose()?,
    };
    match granted.token.is_some() || granted.certificate.is_some() {
        true => Ok(granted),
        false => Err("there is neither a token nor a certificate in it".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exec(command: &str, script: &str) -> ExecConfig {
        let exec = json!({
            "apiVersion": "client.authentication.k8s.io/v1", "command": command,
            "args": ["-c", script], "env": [{"name": "WHO", "value": "me"}],
            "interactiveMode": "IfAvailable", "provideClusterInfo": true,
        });
        serde_json::from_value(exec).unwrap()
    }

    fn cluster() -> Cluster {
        serde_json::from_value(json!({"server": "https://c:6443"})).unwrap()
    }

    async fn run(script: &str) -> Result<PluginCredentials, ExecPluginError> {
        run_exec_plugin(
            &exec("sh", script),
            Some(&cluster()),
            Interactivity::NonInteractive,
        )
        .await
    }

    async fn complains(script: &str) -> String {
        run(script).await.err().unwrap().to_string()
    }

    #[tokio::test]
    async fn exec_info_is_passed_and_the_credential_is_parsed() {
        let script = r#"
            case "$KUBERNETES_EXEC_INFO" in
            *'"interactive":false'*) ;; *) exit 7 ;; esac
            case "$KUBERNETES_EXEC_INFO" in
            *'"server":"https://c:6443"'*) ;; *) exit 8 ;; esac
            printf '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"t-%s","expirationTimestamp":"2026-03-02T12:00:00Z"}}' "$WHO"
        "#;
        let granted = run(script).await.unwrap();
        assert_eq!(granted.token.as_deref(), Some("t-me"));
        assert_eq!(granted.expires, "2026-03-02T12:00:00Z".parse().ok());
        let yaml = "printf 'status:\\n  clientCertificateData: c\\n  clientKeyData: k\\n'";
        let granted = run(yaml).await.unwrap();
        assert_eq!(granted.certificate, Some(("c".into(), "k".into())));
    }

    #[tokio::test]
    async fn what_goes_wrong_is_one_line_that_names_the_plugin() {
        assert_eq!(
            complains("echo one >&2; printf '\\033[31mNo session.\\n\\n' >&2; exit 3").await,
            "its credential plugin \"sh\" failed (exit status: 3): [31mNo session; sign in again and repeat"
        );
        assert_eq!(
            complains("exit 1").await,
            "its credential plugin \"sh\" failed (exit status: 1): it did not say why; sign in again and repeat"
        );
        let unusable = |reason: &str| {
            format!(
                "its credential plugin \"sh\" gave no usable ExecCredential: {reason}; is it up to date?"
            )
        };
        for (script, reason) in [
            ("echo 'secret: ['", "it is neither JSON nor YAML"),
            ("echo '{}'", "it has no status"),
            (
                "echo '{\"status\":{\"token\":\"\"}}'",
                "there is neither a token nor a certificate in it",
            ),
            (
                "echo '{\"status\":{\"token\":\"t\",\"expirationTimestamp\":\"soon\"}}'",
                "expirationTimestamp \"soon\" is no time",
            ),
            (
                "echo '{\"status\":{\"clientKeyData\":\"k\"}}'",
                "a certificate and its key belong together",
            ),
            (
                "echo '{\"apiVersion\":\"client.authentication.k8s.io/v1beta1\",\"status\":{\"token\":\"t\"}}'",
                "it is of \"client.authentication.k8s.io/v1beta1\", the kubeconfig wants \"client.authentication.k8s.io/v1\"",
            ),
        ] {
            assert_eq!(complains(script).await, unusable(reason), "{script}");
        }
    }

    #[tokio::test]
    async fn a_plugin_that_is_not_there_comes_with_its_hint() {
        let mut missing = exec("no-such-plugin", "");
        let ask = async |exec: &ExecConfig| {
            let asked = run_exec_plugin(exec, None, Interactivity::NonInteractive).await;
            asked.err().unwrap().to_string()
        };
        assert_eq!(
            ask(&missing).await,
            "its credential plugin \"no-such-plugin\" cannot be run: there is no such program; install it, or put it on PATH"
        );
        missing.install_hint = Some("Get it:\n\n  https://example.dev/get\n".into());
        assert_eq!(
            ask(&missing).await,
            "its credential plugin \"no-such-plugin\" cannot be run: there is no such program; Get it: https://example.dev/get"
        );
        missing.interactive_mode = Some(ExecInteractiveMode::Always);
        assert!(ask(&missing).await.contains("has to ask a person"));
    }
}
