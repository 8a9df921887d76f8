//! `clusters.yaml`: the worker clusters of MultiKueue.

use std::path::{Path, PathBuf};

use kueue_lab_api::name_validation::dns1123_label;
use kueue_lab_yaml::{Limits, Located, Node, Position, Problem, from_node, parse_one};
use serde::Deserialize;

use super::{Finding, SourceFile};

/// The maximum number of worker clusters: that of a MultiKueueConfig.
pub const MAX_WORKERS: usize = 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClustersFile {
    #[serde(default)]
    workers: Option<Located<i64>>,
    #[serde(default)]
    clusters: Vec<Located<ClusterEntry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClusterEntry {
    name: Located<String>,
    #[serde(default)]
    kubeconfig: Option<String>,
    #[serde(default)]
    context: Option<String>,
}

/// The worker clusters of a preset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkersOfPreset {
    /// The number of embedded clusters.
    pub embedded: usize,
    /// Clusters that exist without the lab.
    pub existing: Vec<ExistingCluster>,
}

impl WorkersOfPreset {
    /// A number of embedded clusters.
    pub fn embedded(embedded: usize) -> Self {
        Self {
            embedded,
            ..Self::default()
        }
    }

    /// The number of all clusters.
    pub fn number(&self) -> usize {
        self.embedded + self.existing.len()
    }
}

/// A cluster that is reached with a kubeconfig.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExistingCluster {
    /// The name of its MultiKueueCluster.
    pub name: String,
    /// The kubeconfig file; `None` for the files that `kubectl` reads.
    pub kubeconfig: Option<PathBuf>,
    /// The context; `None` for the current one.
    pub context: Option<String>,
    /// The file that names the cluster.
    pub file: String,
    /// The position of the name.
    pub at: Position,
}

/// The worker clusters in the file.
///
/// # Errors
/// The first error of the file.
pub fn read_workers(file: &SourceFile) -> Result<WorkersOfPreset, Finding> {
    let text = String::from_utf8_lossy(&file.bytes);
    parse_workers(&text, &file.name)
        .map_err(|problem| Finding::error(&file.name, problem.at, problem.message))
}

fn parse_workers(text: &str, file: &str) -> Result<WorkersOfPreset, Problem> {
    let root: Node = parse_one(text, Limits::default())?;
    let ClustersFile { workers, clusters } = from_node(&root)?;
    let embedded = workers.map_or(Ok(0), |workers| {
        let number = usize::try_from(workers.value).ok();
        let number = number.filter(|number| (1..=MAX_WORKERS).contains(number));
        number.ok_or_else(|| {
            let message = format!(
                "workers: {}: must be between 1 and {MAX_WORKERS}",
                workers.value
            );
            Problem::new(workers.at, message)
        })
    })?;
    let mut existing: Vec<ExistingCluster> = Vec::new();
    for cluster in clusters {
        let known = existing.iter().any(|c| c.name == cluster.value.name.value);
        existing.push(existing_cluster(cluster.value, embedded, known, file)?);
    }
    let workers = WorkersOfPreset { embedded, existing };
    match workers.number() {
        0 => Err(Problem::new(
            Position::START,
            "the file names no worker clusters: add workers: N, or a list of clusters",
        )),
        number if number > MAX_WORKERS => Err(Problem::new(
            Position::START,
            format!("{number} worker clusters: a manager has at most {MAX_WORKERS}"),
        )),
        _ => Ok(workers),
    }
}

fn existing_cluster(
    entry: ClusterEntry,
    embedded: usize,
    known: bool,
    file: &str,
) -> Result<ExistingCluster, Problem> {
    let Located { at, value: name } = entry.name;
    let problem = |message: String| Err(Problem::new(at, format!("clusters: {name}: {message}")));
    if let Some(wrong) = dns1123_label(&name).first() {
        return problem(wrong.clone());
    }
    if known {
        return problem("another cluster has this name".to_owned());
    }
    if (1..=embedded).any(|number| name == format!("worker{number}")) {
        return problem("an embedded worker cluster has this name".to_owned());
    }
    if entry.kubeconfig.is_none() && entry.context.is_none() {
        return problem("kubeconfig or context is required".to_owned());
    }
    Ok(ExistingCluster {
        kubeconfig: entry.kubeconfig.map(|path| in_folder_of(file, &path)),
        context: entry.context,
        file: file.to_owned(),
        at,
        name,
    })
}

/// A path relative to the folder of a file, or to the home folder.
fn in_folder_of(file: &str, path: &str) -> PathBuf {
    if let (Some(rest), Some(home)) = (path.strip_prefix("~/"), std::env::home_dir()) {
        return home.join(rest);
    }
    let folder = Path::new(file).parent();
    folder.unwrap_or_else(|| Path::new("")).join(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<WorkersOfPreset, String> {
        parse_workers(text, "p/clusters.yaml").map_err(|problem| problem.to_string())
    }

    #[test]
    fn the_number_is_checked() {
        let two = WorkersOfPreset::embedded(2);
        assert_eq!(parse("# Two.\nworkers: 2\n").unwrap(), two);
        for (text, error) in [
            ("workers: 0\n", "1:10: workers: 0: must be between 1 and 20"),
            (
                "workers: 21\n",
                "1:10: workers: 21: must be between 1 and 20",
            ),
            ("worker: 2\n", "1:1: unknown field \"worker\""),
            ("clusters: []\n", "1:1: the file names no worker clusters"),
        ] {
            let found = parse(text).unwrap_err();
            assert!(found.starts_with(error), "{found}");
        }
    }

    #[test]
    fn clusters_with_a_kubeconfig_are_named() {
        let text = "workers: 1\nclusters:\n- {name: east, kubeconfig: east.yaml}\n- {name: west, context: kind-west}\n";
        let workers = parse(text).unwrap();
        assert_eq!(workers.number(), 3);
        let [east, west] = &*workers.existing else {
            panic!("{workers:?}");
        };
        assert_eq!(east.kubeconfig, Some(PathBuf::from("p/east.yaml")));
        assert_eq!(
            (west.context.as_deref(), &west.kubeconfig),
            (Some("kind-west"), &None)
        );
        assert_eq!(west.at.line, 4);
        for (entry, error) in [
            ("{name: East, context: c}", "a lowercase RFC 1123 label"),
            (
                "{name: worker1, context: c}",
                "an embedded worker cluster has this name",
            ),
            ("{name: east}", "kubeconfig or context is required"),
            (
                "{name: a, context: c}\n- {name: a, context: d}",
                "another cluster has this name",
            ),
        ] {
            let text = format!("workers: 1\nclusters:\n- {entry}\n");
            let found = parse(&text).unwrap_err();
            assert!(found.contains(error), "{found}");
        }
    }
}
