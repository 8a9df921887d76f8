//! Containers whose command is started by an operator's own executable: the entrypoint of Tekton's
//! steps, and the executor of Argo Workflows.

use k8s_openapi::api::core::v1::{Container, Pod};

/// The behaviour of such a container.
#[derive(Debug)]
pub(super) enum WrappedCommand<'a> {
    /// Prepares the pod and exits.
    Setup,
    /// Exits together with this container of the pod.
    WaitFor(&'a Container),
    /// Runs this command, after this container of the pod has exited with 0.
    Run {
        after: Option<&'a Container>,
        words: Vec<&'a str>,
        /// Whether a failure counts as success.
        ignores_failure: bool,
    },
}

/// The command of a container that an operator's executable starts; `None` for all others.
pub(super) fn wrapped_command<'a>(
    container: &'a Container,
    pod: &'a Pod,
) -> Option<WrappedCommand<'a>> {
    let words: Vec<&str> = words(container);
    let (program, arguments) = words.split_first()?;
    match program.rsplit('/').next()? {
        "entrypoint" if program.starts_with("/ko-app/") && arguments.first() == Some(&"init") => {
            Some(WrappedCommand::Setup)
        }
        "entrypoint" if program.starts_with("/tekton/") => Some(tekton_step(arguments, pod)),
        "argoexec" => match arguments.first() {
            Some(&"init") => Some(WrappedCommand::Setup),
            Some(&"wait") => main_container(pod).map(WrappedCommand::WaitFor),
            Some(&"emissary") => Some(WrappedCommand::Run {
                after: None,
                words: after_separator(arguments).to_vec(),
                ignores_failure: false,
            }),
            _ => None,
        },
        _ => None,
    }
}

fn words(container: &Container) -> Vec<&str> {
    let command = container.command.iter().flatten();
    let words = command.chain(container.args.iter().flatten());
    words.map(String::as_str).collect()
}

/// The words after the first `--`.
fn after_separator<'a, 'b>(words: &'b [&'a str]) -> &'b [&'a str] {
    let at = words.iter().position(|word| *word == "--");
    at.map_or(&[], |at| &words[at + 1..])
}

fn containers(pod: &Pod) -> &[Container] {
    pod.spec.as_ref().map_or(&[], |spec| &spec.containers)
}

fn main_container(pod: &Pod) -> Option<&Container> {
    containers(pod)
        .iter()
        .find(|container| container.name == "main")
}

fn tekton_step<'a>(arguments: &[&'a str], pod: &'a Pod) -> WrappedCommand<'a> {
    let options = arguments
        .split(|word| *word == "--")
        .next()
        .unwrap_or_default();
    let option = |name: &str| {
        let at = options.iter().position(|word| *word == name)?;
        options.get(at + 1).copied()
    };
    let file = option("-wait_file");
    // The step that writes the file.
    let after = file.and_then(|file| {
        let mut steps = containers(pod).iter();
        steps.find(|step| {
            words(step)
                .windows(2)
                .any(|pair| pair[0] == "-post_file" && pair[1] == file)
        })
    });
    let mut words: Vec<&str> = option("-entrypoint").into_iter().collect();
    words.extend(after_separator(arguments));
    WrappedCommand::Run {
        after,
        words,
        ignores_failure: option("-on_error") == Some("continue"),
    }
}
