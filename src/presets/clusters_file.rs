//! `clusters.yaml`: the worker clusters of MultiKueue.

use kueue_lab_yaml::{Limits, Located, Node, Problem, from_node, parse_one};
use serde::Deserialize;

use super::{Finding, SourceFile};

/// The maximum number of worker clusters: that of a MultiKueueConfig.
pub const MAX_WORKERS: usize = 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClustersFile {
    workers: Located<i64>,
}

/// The number of worker clusters in the file.
///
/// # Errors
/// The first error of the file.
pub fn read_workers(file: &SourceFile) -> Result<usize, Finding> {
    let text = String::from_utf8_lossy(&file.bytes);
    parse_workers(&text).map_err(|problem| Finding::error(&file.name, problem.at, problem.message))
}

fn parse_workers(text: &str) -> Result<usize, Problem> {
    let root: Node = parse_one(text, Limits::default())?;
    let ClustersFile { workers } = from_node(&root)?;
    let number = usize::try_from(workers.value).ok();
    let number = number.filter(|number| (1..=MAX_WORKERS).contains(number));
    number.ok_or_else(|| {
        let message = format!(
            "workers: {}: must be between 1 and {MAX_WORKERS}",
            workers.value
        );
        Problem::new(workers.at, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_checked() {
        assert_eq!(parse_workers("# Two.\nworkers: 2\n").unwrap(), 2);
        for (text, error) in [
            ("workers: 0\n", "1:10: workers: 0: must be between 1 and 20"),
            (
                "workers: 21\n",
                "1:10: workers: 21: must be between 1 and 20",
            ),
            ("worker: 2\n", "1:1: unknown field \"worker\""),
        ] {
            let found = parse_workers(text).unwrap_err().to_string();
            assert!(found.starts_with(error), "{found}");
        }
    }
}
