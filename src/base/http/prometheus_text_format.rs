//! Prometheus' classic text format (0.0.4), which Kubernetes components serve, from a registry of
//! prometheus-client, which itself writes OpenMetrics.

use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

/// The content type of the format.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// All metrics of a registry.
pub fn to_text(registry: &Registry) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = encode(&mut text, registry);
    to_classic_text_format(&text)
}

/// Converts OpenMetrics. `HELP` and `TYPE` of a counter get its full name: a gauge may have the
/// name without `_total`. The full stop that prometheus-client adds to help texts is removed.
/// Bounds of buckets are written as Go writes them.
fn to_classic_text_format(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let line = match line.strip_suffix('.') {
            Some(help) if line.starts_with("# HELP ") => help,
            _ => line,
        };
        let is_counter = |line: &str| line.starts_with("# TYPE ") && line.ends_with(" counter");
        let of_counter = is_counter(line) || lines.peek().is_some_and(|next| is_counter(next));
        let head = ["# HELP ", "# TYPE "]
            .into_iter()
            .find(|h| line.starts_with(h));
        match head {
            _ if line == "# EOF" => continue,
            Some(head) if of_counter => {
                let rest = &line[head.len()..];
                let (name, rest) = rest.split_once(' ').unwrap_or((rest, ""));
                out.extend([head, name, "_total ", rest]);
            }
            _ => match (line.strip_suffix(" inf"), split_whole_bound(line)) {
                (Some(rest), _) => out.extend([rest, " +Inf"]),
                (None, Some((before, after))) => out.extend([before, after]),
                (None, None) => out.push_str(line),
            },
        }
        out.push('\n');
    }
    out
}

/// Splits a bucket line around the `.0` of its upper bound: Go writes `le="5"`.
fn split_whole_bound(line: &str) -> Option<(&str, &str)> {
    let bound = line.find("{le=\"")? + "{le=\"".len();
    let end = bound + line.get(bound..)?.find('"')?;
    let before = line.get(..end)?.strip_suffix(".0")?;
    Some((before, line.get(end..)?))
}

#[cfg(test)]
mod tests {
    use prometheus_client::metrics::counter::Counter;

    use super::*;

    #[test]
    fn a_counter_and_a_gauge_may_share_a_name() {
        let open = "# HELP kueue_x A.\n# TYPE kueue_x counter\nkueue_x_total 1\n\
                    # HELP kueue_x B.\n# TYPE kueue_x gauge\nkueue_x inf\n# EOF\n";
        let classic = "# HELP kueue_x_total A\n# TYPE kueue_x_total counter\nkueue_x_total 1\n\
                       # HELP kueue_x B\n# TYPE kueue_x gauge\nkueue_x +Inf\n";
        assert_eq!(to_classic_text_format(open), classic);
    }

    #[test]
    fn whole_bounds_have_no_fraction() {
        let open =
            "x_bucket{le=\"5.0\",a=\"1.0\"} 2\nx_bucket{le=\"0.5\"} 1\nx_sum{a=\"1.0\"} 3.0\n";
        let classic =
            "x_bucket{le=\"5\",a=\"1.0\"} 2\nx_bucket{le=\"0.5\"} 1\nx_sum{a=\"1.0\"} 3.0\n";
        assert_eq!(to_classic_text_format(open), classic);
    }

    #[test]
    fn registries_are_encoded() {
        let mut registry = Registry::default();
        let requests = Counter::<u64>::default();
        registry.register("requests", "Requests answered", requests.clone());
        requests.inc();
        let text = "# HELP requests_total Requests answered\n\
                    # TYPE requests_total counter\nrequests_total 1\n";
        assert_eq!(to_text(&registry), text);
    }
}
