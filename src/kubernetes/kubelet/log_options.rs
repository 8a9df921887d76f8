//! `PodLogOptions` as query parameters of a kubelet request.

use kube::api::LogParams;

/// A parameter with another value than it takes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ParseOptionError {
    /// Not a boolean.
    #[error("{value:?} is not a value of {parameter}")]
    Flag {
        /// The parameter.
        parameter: String,
        /// The value.
        value: String,
    },
    /// Not a number or a time.
    #[error("{parameter} is not {value:?}")]
    Value {
        /// The parameter.
        parameter: String,
        /// The value.
        value: String,
    },
}

/// Parses a query. Unknown parameters are ignored.
///
/// # Errors
/// A value that is none.
pub(super) fn parse(query: &str) -> Result<LogParams, ParseOptionError> {
    let mut options = LogParams::default();
    for (key, value) in form_urlencoded::parse(query.as_bytes()) {
        let key = key.as_ref();
        match key {
            "follow" => options.follow = flag(key, &value)?,
            "previous" => options.previous = flag(key, &value)?,
            "timestamps" => options.timestamps = flag(key, &value)?,
            "tailLines" => options.tail_lines = Some(count(key, &value)?),
            "limitBytes" => options.limit_bytes = Some(count(key, &value)?),
            "sinceSeconds" => options.since_seconds = Some(count(key, &value)?),
            "sinceTime" => options.since_time = Some(parsed(key, &value)?),
            _ => {}
        }
    }
    Ok(options)
}

fn flag(key: &str, value: &str) -> Result<bool, ParseOptionError> {
    match value {
        "true" | "1" => Ok(true),
        "false" | "0" | "" => Ok(false),
        _ => Err(ParseOptionError::Flag {
            parameter: key.to_owned(),
            value: value.to_owned(),
        }),
    }
}

fn count(key: &str, value: &str) -> Result<i64, ParseOptionError> {
    let count: i64 = parsed(key, value)?;
    match count {
        0.. => Ok(count),
        _ => Err(wrong_value(key, value)),
    }
}

fn parsed<T: std::str::FromStr>(key: &str, value: &str) -> Result<T, ParseOptionError> {
    value.parse().map_err(|_| wrong_value(key, value))
}

fn wrong_value(key: &str, value: &str) -> ParseOptionError {
    ParseOptionError::Value {
        parameter: key.to_owned(),
        value: value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_server_queries_are_parsed() {
        let written = "follow=true&limitBytes=10&previous=false&sinceSeconds=5&sinceTime=2026-03-02T12%3A00%3A00%2B01%3A00&stream=All&tailLines=3&timestamps=true";
        let read = parse(written).unwrap();
        assert!(read.follow && !read.previous && read.timestamps);
        assert_eq!(
            (read.tail_lines, read.limit_bytes, read.since_seconds),
            (Some(3), Some(10), Some(5))
        );
        let since = "2026-03-02T11:00:00Z".parse().unwrap();
        assert_eq!(read.since_time, Some(since));
        assert!(parse("").is_ok_and(|read| !read.follow && read.tail_lines.is_none()));
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
