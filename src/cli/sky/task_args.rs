//! The task of `kueue-lab sky`: a file or a command, and the flags that change it.

use std::path::Path;

use kueue_lab_skypilot::{Task, TaskOverrides};
use serde_json::json;

use crate::cli::CommandError;

/// A task and the flags that change it.
#[derive(Debug, clap::Args)]
pub(super) struct TaskArgs {
    /// The file of the task, or the command of a task without file.
    #[arg(value_name = "FILE|COMMAND")]
    entrypoint: Vec<String>,
    /// The number of nodes.
    #[arg(long, value_name = "N")]
    num_nodes: Option<u32>,
    /// CPUs of each node, such as 4 or 4+.
    #[arg(long, value_name = "CPUS")]
    cpus: Option<String>,
    /// Memory of each node in GB, such as 16 or 16+.
    #[arg(long, value_name = "GB")]
    memory: Option<String>,
    /// GPUs of each node, such as H100:8.
    #[arg(long, value_name = "GPUS")]
    gpus: Option<String>,
    /// The priority in SkyPilot's own queue, from -1000 to 1000. Kueue's priority is a label of the task.
    #[arg(long, value_name = "PRIORITY", allow_negative_numbers = true)]
    priority: Option<i32>,
    /// An environment variable of the task; without a value, that of this shell.
    #[arg(long, value_name = "NAME[=VALUE]")]
    env: Vec<String>,
}

impl TaskArgs {
    /// The source of the task, and its text.
    ///
    /// # Errors
    /// The file cannot be read, or a value is invalid.
    pub(super) fn read(&self) -> Result<(String, String), CommandError> {
        let (shown, text) = self.entrypoint()?;
        let at = |error: &dyn std::fmt::Display| CommandError::usage(format!("{shown}:{error}"));
        Task::parse(&text).map_err(|error| at(&error))?;
        let text = self.overrides()?.apply(&text).map_err(|error| at(&error))?;
        Task::parse(&text).map_err(|error| {
            CommandError::usage(format!(
                "{shown}, with the flags of the command: {}",
                error.0.message
            ))
        })?;
        Ok((shown, text))
    }

    fn entrypoint(&self) -> Result<(String, String), CommandError> {
        if let [file] = &*self.entrypoint
            && is_file(file)
        {
            let text = kueue_lab_host::read_argument_to_string(file, kueue_lab_host::FILE_LIMIT);
            let text = text.map_err(|error| CommandError::usage(error).with_message(file))?;
            return Ok((file.clone(), text));
        }
        if self.entrypoint.is_empty() {
            return Err(CommandError::usage(
                "the task is missing: name its file, or a command to run".to_owned(),
            ));
        }
        let command = self.entrypoint.join(" ");
        Ok((format!("{command:?}"), json!({"run": command}).to_string()))
    }

    fn overrides(&self) -> Result<TaskOverrides, CommandError> {
        let envs = self.env.iter().map(|env| match env.split_once('=') {
            Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
            None => match std::env::var(env) {
                Ok(value) => Ok((env.clone(), value)),
                Err(_) => Err(CommandError::usage(format!(
                    "--env {env}: the variable is not set; give it a value with {env}=VALUE"
                ))),
            },
        });
        Ok(TaskOverrides {
            num_nodes: self.num_nodes,
            cpus: self.cpus.clone(),
            memory: self.memory.clone(),
            gpus: self.gpus.clone(),
            priority: self.priority,
            envs: envs.collect::<Result<_, _>>()?,
        })
    }
}

/// Whether SkyPilot takes the text for a file: it exists, or has the suffix of YAML.
fn is_file(text: &str) -> bool {
    let path = Path::new(text);
    let suffix = path.extension().and_then(|suffix| suffix.to_str());
    matches!(suffix, Some("yaml" | "yml")) || path.is_file()
}
