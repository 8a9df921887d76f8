//! The table of `up --limits`.

use kueue_lab_lab::{RequestLimits, cluster_limits, container_limits};

/// The limits, one on a line: name, value, meaning, and how to raise it.
pub(super) fn limits_table(requests: &RequestLimits) -> String {
    let mut rows = vec![["LIMIT", "VALUE", "MEANING", "TO RAISE IT"].map(str::to_owned)];
    rows.extend(cluster_limits(requests).into_iter().map(|limit| {
        let raise = limit.flag.unwrap_or("fixed");
        [limit.name, &limit.value, limit.meaning, raise].map(str::to_owned)
    }));
    rows.extend(container_limits().map(|(name, value, meaning, raise)| {
        [name, &value.to_string(), meaning, raise].map(str::to_owned)
    }));
    let widths: Vec<usize> = (0..3)
        .map(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0))
        .collect();
    let lines = rows.iter().map(|[name, value, meaning, raise]| {
        let (first, second, third) = (widths[0], widths[1], widths[2]);
        format!("{name:first$}  {value:second$}  {meaning:third$}  {raise}\n")
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_has_a_row() {
        let requests = RequestLimits {
            max_requests_inflight: 77,
            ..RequestLimits::default()
        };
        let table = limits_table(&requests);
        for row in [
            "max-requests-inflight",
            "request-timeout",
            "request-body-bytes",
            "watches-per-user",
            "script-bytes",
            "script-commands",
            "script-steps",
            "container-output-bytes",
            "exec-memory-bytes",
            "exec-commands",
        ] {
            let name = |line: &str| line.split("  ").next() == Some(row);
            let lines = table.lines().filter(|line| name(line));
            assert_eq!(lines.count(), 1, "{row} in\n{table}");
        }
        assert!(table.contains("  77  "), "{table}");
    }
}
