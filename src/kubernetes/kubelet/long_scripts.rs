//! Pods whose programs take long to derive.

use k8s_openapi::api::core::v1::{Container, Pod};

/// The constructs of scripts whose interpretation may take long.
const LOOPS: [&str; 6] = ["for", "while", "until", "$(", "`", ".."];

/// Whether the program of a container of the pod is derived from a script that may take long.
pub(super) fn has_long_script(pod: &Pod) -> bool {
    let spec = pod.spec.as_ref();
    let containers = spec.into_iter().flat_map(|spec| {
        let init = spec.init_containers.iter().flatten();
        init.chain(&spec.containers)
    });
    let words = |container: &Container| {
        let command = container.command.iter().flatten();
        command
            .chain(container.args.iter().flatten())
            .any(|word| LOOPS.iter().any(|mark| word.contains(mark)))
    };
    containers.into_iter().any(words)
}
