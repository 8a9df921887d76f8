//! `python3 -m sky.jobs.scheduler`: submits jobs that were added to the table to the jobs controller.

use std::collections::BTreeMap;

use kueue_lab_container::ProgramCall;

use crate::jobs_controller::ManagedJobSubmission;
use crate::runtime::{Runtime, expand_user};

/// The environment variables of the user and of the configuration file.
const USER: &str = "SKYPILOT_USER";
const USER_ID: &str = "SKYPILOT_USER_ID";
const CONFIG: &str = "SKYPILOT_CONFIG";

/// The arguments.
#[derive(Debug, Default, PartialEq)]
struct SchedulerArguments {
    task: String,
    environment: Option<String>,
    pool: Option<String>,
    jobs: Vec<i64>,
}

impl SchedulerArguments {
    fn parse(arguments: &[String]) -> Self {
        let mut parsed = Self::default();
        let mut option = "";
        for argument in arguments {
            match (option, argument.as_str()) {
                (_, name) if name.starts_with("--") => {
                    option = name;
                    continue;
                }
                // The only option with several values.
                ("--job-id", id) => {
                    parsed.jobs.extend(id.parse::<i64>());
                    continue;
                }
                ("", task) => task.clone_into(&mut parsed.task),
                ("--env-file", file) => parsed.environment = Some(file.to_owned()),
                ("--pool", pool) => parsed.pool = Some(pool.to_owned()),
                _ => {}
            }
            option = "";
        }
        parsed
    }
}

/// The variables of a file with lines `export NAME='VALUE'`.
fn exports(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().filter_map(|line| {
        let (name, value) = line.trim().strip_prefix("export ")?.split_once('=')?;
        Some((name.to_owned(), value.trim_matches('\'').to_owned()))
    });
    lines.collect()
}

/// Submits the jobs. Returns the exit code.
pub(crate) async fn run(runtime: &Runtime, arguments: &[String], call: &ProgramCall<'_>) -> i32 {
    match submit(runtime, &SchedulerArguments::parse(arguments), call).await {
        Ok(()) => 0,
        Err(why) => {
            call.print_error(&format!("sky.jobs.scheduler: {why}\n"))
                .await;
            1
        }
    }
}

async fn submit(
    runtime: &Runtime,
    arguments: &SchedulerArguments,
    call: &ProgramCall<'_>,
) -> Result<(), String> {
    let controller = runtime.nodes.jobs_controller();
    let controller = controller.ok_or("the lab runs no jobs controller on this cluster")?;
    if arguments.pool.is_some() {
        return Err("pools are not simulated".into());
    }
    let read = |path: &str| {
        let path = expand_user(path);
        let data = call.container().read_file(&path);
        let data = data.ok_or_else(|| format!("{path}: No such file or directory"))?;
        Ok::<_, String>(String::from_utf8_lossy(&data).into_owned())
    };
    let environment = match &arguments.environment {
        Some(file) => exports(&read(file)?),
        None => BTreeMap::new(),
    };
    let variable = |name: &str| environment.get(name).cloned();
    let submission = ManagedJobSubmission {
        task: read(&arguments.task)?,
        config: variable(CONFIG).map(|file| read(&file)).transpose()?,
        user: variable(USER).unwrap_or_default(),
        user_hash: variable(USER_ID).unwrap_or_default(),
        namespace: runtime.nodes.namespace().to_owned(),
    };
    for id in &arguments.jobs {
        let started = controller.start(*id, &submission).await;
        started.map_err(|error| error.to_string())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_one_value_except_the_jobs() {
        let words = "task.yaml --user-yaml-path u.yaml --env-file e --priority 500 --job-id 1 2";
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let expected = SchedulerArguments {
            task: "task.yaml".into(),
            environment: Some("e".into()),
            pool: None,
            jobs: vec![1, 2],
        };
        assert_eq!(SchedulerArguments::parse(&words), expected);
    }

    #[test]
    fn variables_are_unquoted() {
        let text = "export SKYPILOT_USER='root'\n\nexport A=b=c\nother\n";
        let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let expected = [variable("SKYPILOT_USER", "root"), variable("A", "b=c")];
        assert_eq!(exports(text), expected.into());
    }
}
