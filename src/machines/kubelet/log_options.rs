//! The options of a log, as API servers write them into the query of a request to a kubelet.

use jiff::Timestamp;

/// Which part of a log is wanted, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PodLogOptions {
    pub(super) follow: bool,
    pub(super) previous: bool,
    pub(super) timestamps: bool,
    pub(super) tail_lines: Option<usize>,
    pub(super) limit_bytes: Option<usize>,
    /// Only what is younger than so many seconds.
    pub(super) since_seconds: Option<u64>,
    /// Only what was written since then.
    pub(super) since_time: Option<Timestamp>,
}

/// Reads a query. What is not known is left out.
///
/// # Errors
/// A value that is none.
pub(super) fn parse(query: &str) -> Result<PodLogOptions, String> {
    let mut options = PodLogOptions::default();
    for (key, value) in form_urlencoded::parse(query.as_bytes()) {
        let key = key.as_ref();
        match key {
            "follow" => options.follow = flag(key, &value)?,
            "previous" => options.previous = flag(key, &value)?,
            "timestamps" => options.timestamps = flag(key, &value)?,
            "tailLines" => options.tail_lines = Some(number(key, &value)?),
            "limitBytes" => options.limit_bytes = Some(number(key, &value)?),
            "sinceSeconds" => options.since_seconds = Some(number(key, &value)?),
            "sinceTime" => options.since_time = Some(number(key, &value)?),
            _ => {}
        }
    }
    Ok(options)
}

fn flag(key: &str, value: &str) -> Result<bool, String> {
    match value {
        "true" | "1" => Ok(true),
        "false" | "0" | "" => Ok(false),
        _ => Err(format!("{key} is not {value:?}")),
    }
}

fn number<T: std::str::FromStr>(key: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("{key} is not {value:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_api_servers_write_is_read() {
        let written = "follow=true&limitBytes=10&previous=false&sinceSeconds=5&sinceTime=2026-03-02T12%3A00%3A00%2B01%3A00&stream=All&tailLines=3&timestamps=true";
        let read = PodLogOptions {
            follow: true,
            previous: false,
            timestamps: true,
            tail_lines: Some(3),
            limit_bytes: Some(10),
            since_seconds: Some(5),
            since_time: Some("2026-03-02T11:00:00Z".parse().unwrap()),
        };
        assert_eq!(parse(written), Ok(read));
        assert_eq!(parse(""), Ok(PodLogOptions::default()));
        for wrong in [
            "tailLines=-1",
            "follow=maybe",
            "sinceTime=yesterday",
            "limitBytes=",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
