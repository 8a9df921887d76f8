//! Query parameters, parsed as Kubernetes parses them.

use kueue_lab_apimachinery::api_error::ApiError;

/// The query parameters of a request, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Query {
    pairs: Vec<(String, String)>,
}

impl Query {
    /// Parses the query string of a URL, without the `?`.
    pub(crate) fn parse(query: &str) -> Self {
        let pairs = form_urlencoded::parse(query.as_bytes())
            .into_owned()
            .collect();
        Self { pairs }
    }

    /// All parameters.
    pub(crate) fn pairs(&self) -> &[(String, String)] {
        &self.pairs
    }

    /// The first value of a parameter, which may be empty.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.pairs
            .iter()
            .find(|(k, _)| k == key)
            .map(|(_, v)| v.as_str())
    }

    /// All values of a parameter.
    pub(crate) fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> + 'a {
        self.pairs
            .iter()
            .filter(move |(k, _)| k == key)
            .map(|(_, v)| v.as_str())
    }

    /// The first value of a parameter; empty if absent.
    pub(crate) fn text(&self, key: &str) -> &str {
        self.get(key).unwrap_or_default()
    }

    /// A boolean parameter: absent is `None`; `false` and `0` in any case are false; any other
    /// value, including the empty one, is true.
    pub(crate) fn flag(&self, key: &str) -> Option<bool> {
        self.get(key)
            .map(|v| v != "0" && !v.eq_ignore_ascii_case("false"))
    }

    /// An integer parameter; absent and empty are `None`.
    ///
    /// # Errors
    /// 400 with Go's parse error if the value is not a number.
    pub(crate) fn integer(&self, key: &str) -> Result<Option<i64>, ApiError> {
        match self.text(key) {
            "" => Ok(None),
            text => parse_int(text).map(Some),
        }
    }

    /// Whether `dryRun` is set.
    ///
    /// # Errors
    /// 400 for values other than `All`.
    pub(crate) fn dry_run(&self) -> Result<bool, ApiError> {
        let mut requested = false;
        for value in self.all("dryRun").filter(|v| !v.is_empty()) {
            if value != "All" {
                return Err(ApiError::bad_request(format!(
                    "invalid dryRun: {value:?}: supported values: \"All\""
                )));
            }
            requested = true;
        }
        Ok(requested)
    }
}

/// Parses an integer as Go's `strconv.ParseInt`, with its error.
///
/// # Errors
/// 400 if the text is not a 64-bit integer.
pub(crate) fn parse_int(text: &str) -> Result<i64, ApiError> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let numeric = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    text.parse().map_err(|_| {
        let problem = match numeric {
            true => "value out of range",
            false => "invalid syntax",
        };
        ApiError::bad_request(format!("strconv.ParseInt: parsing {text:?}: {problem}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoding_and_kinds_of_values() {
        let q = Query::parse("fieldSelector=&labelSelector=a%3Db%2Cc+in+%28d%29&limit=5&watch&x=0");
        assert_eq!(q.get("fieldSelector"), Some(""));
        assert_eq!(q.text("labelSelector"), "a=b,c in (d)");
        assert_eq!(q.integer("limit"), Ok(Some(5)));
        assert_eq!(q.flag("watch"), Some(true));
        assert_eq!(q.flag("x"), Some(false));
        assert_eq!(q.flag("y"), None);
        assert!(Query::parse("limit=many").integer("limit").is_err());
    }

    #[test]
    fn dry_run_is_all_or_nothing() {
        assert_eq!(Query::parse("").dry_run(), Ok(false));
        assert_eq!(Query::parse("dryRun=All").dry_run(), Ok(true));
        assert!(Query::parse("dryRun=Some").dry_run().is_err());
    }
}
