//! The output of `sky status`.

use jiff::Timestamp;

use super::Cluster;
use crate::table::{align, format_ago};

const COLUMNS: [&str; 6] = [
    "NAME",
    "INFRA",
    "RESOURCES",
    "STATUS",
    "AUTOSTOP",
    "LAUNCHED",
];

/// Renders clusters as a table, the newest first.
pub fn status_table(clusters: &[Cluster], context: &str, now: Timestamp) -> String {
    if clusters.is_empty() {
        return "Clusters\nNo existing clusters.".into();
    }
    let mut newest: Vec<&Cluster> = clusters.iter().collect();
    newest.sort_by_key(|cluster| std::cmp::Reverse(cluster.launched_at()));
    let mut rows = vec![COLUMNS.map(str::to_owned).to_vec()];
    rows.extend(newest.into_iter().map(|cluster| {
        let age = cluster.launched_at();
        vec![
            cluster.name.clone(),
            format!("Kubernetes ({context})"),
            cluster.resources(),
            cluster.status().to_string(),
            "-".into(),
            age.map_or_else(|| "-".into(), |at| format_ago(now.duration_since(at))),
        ]
    }));
    format!("Clusters\n{}", align(&rows))
}
