//! Field selectors: `status.phase!=Failed,spec.nodeName=n1`.

use super::api_error::ApiError;

/// A conjunction of requirements on fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector {
    terms: Vec<FieldRequirement>,
}

/// One requirement: `=` or `!=` on a field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldRequirement {
    /// The field's path, such as `status.phase`.
    pub field: String,
    /// Whether the operator is equality.
    pub equal: bool,
    /// The value.
    pub value: String,
}

impl FieldSelector {
    /// Parses a selector; empty terms are ignored.
    ///
    /// # Errors
    /// 400 with the message of upstream.
    pub fn parse(text: &str) -> Result<Self, ApiError> {
        let mut parts = split_terms(text);
        parts.sort_unstable();
        let mut terms = Vec::new();
        for part in parts.into_iter().filter(|p| !p.is_empty()) {
            let Some((field, equal, value)) = split_term(part) else {
                return Err(ApiError::bad_request(format!(
                    "invalid selector: '{text}'; can't understand '{part}'"
                )));
            };
            terms.push(FieldRequirement {
                field: field.into(),
                equal,
                value: unescape(value)?,
            });
        }
        Ok(Self { terms })
    }

    /// The requirements in the order upstream prints them.
    pub fn terms(&self) -> &[FieldRequirement] {
        &self.terms
    }

    /// Whether the selector matches all objects.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The value required by an equality requirement on `field`, if any.
    pub fn requires_exact_match(&self, field: &str) -> Option<&str> {
        self.terms
            .iter()
            .find(|t| t.equal && t.field == field)
            .map(|t| t.value.as_str())
    }
}

impl std::fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, t) in self.terms.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            let op = if t.equal { "=" } else { "!=" };
            let value = t
                .value
                .replace('\\', "\\\\")
                .replace(',', "\\,")
                .replace('=', "\\=");
            write!(f, "{comma}{}{op}{value}", t.field)?;
        }
        Ok(())
    }
}

/// Splits at commas that are not escaped by a backslash.
fn split_terms(text: &str) -> Vec<&str> {
    let (mut terms, mut start, mut escaped) = (Vec::new(), 0, false);
    for (i, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

/// Splits at the first operator.
fn split_term(term: &str) -> Option<(&str, bool, &str)> {
    term.char_indices().find_map(|(i, _)| {
        let (field, rest) = term.split_at(i);
        [("!=", false), ("==", true), ("=", true)]
            .into_iter()
            .find_map(|(op, equal)| Some((field, equal, rest.strip_prefix(op)?)))
    })
}

fn unescape(value: &str) -> Result<String, ApiError> {
    let bad = |what: String| ApiError::bad_request(format!("invalid field selector: {what}"));
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('\\' | ',' | '=')) => out.push(c),
                other => {
                    let seen: String = other.into_iter().collect();
                    return Err(bad(format!("invalid escape sequence: \\{seen}")));
                }
            },
            // Upstream prints the code point.
            ',' | '=' => return Err(bad(format!("unescaped character in value: {}", c as u32))),
            c => out.push(c),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_inequalities_of_one_field() {
        let s = FieldSelector::parse("status.phase!=Failed,status.phase!=Unknown,").unwrap();
        assert_eq!(s.to_string(), "status.phase!=Failed,status.phase!=Unknown");
    }

    #[test]
    fn selectors_and_values_may_be_empty() {
        assert!(FieldSelector::parse("").unwrap().is_empty());
        let selector = FieldSelector::parse("spec.nodeName!=").unwrap();
        assert_eq!(selector.terms()[0].value, "");
        assert!(!selector.terms()[0].equal);
    }

    #[test]
    fn operators_escapes_and_errors() {
        let s = FieldSelector::parse("a==b,c=d\\,e").unwrap();
        assert_eq!(s.requires_exact_match("a"), Some("b"));
        assert_eq!(s.requires_exact_match("c"), Some("d,e"));
        let e = FieldSelector::parse("nonsense").unwrap_err();
        assert_eq!(
            e.message,
            "invalid selector: 'nonsense'; can't understand 'nonsense'"
        );
        assert!(FieldSelector::parse("a=b=c").is_err());
    }
}
