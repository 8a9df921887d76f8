//! Records of CSV files: one per line, fields in double quotes as in RFC 4180.

use std::borrow::Cow;

/// The fields of a line; `None` if a quote does not end.
pub(super) fn fields(line: &str) -> Option<Vec<Cow<'_, str>>> {
    if !line.contains('"') {
        return Some(line.split(',').map(Cow::Borrowed).collect());
    }
    let mut found = Vec::new();
    let mut rest = line;
    loop {
        let Some(quoted) = rest.strip_prefix('"') else {
            match rest.split_once(',') {
                Some((field, after)) => {
                    found.push(Cow::Borrowed(field));
                    rest = after;
                    continue;
                }
                None => {
                    found.push(Cow::Borrowed(rest));
                    return Some(found);
                }
            }
        };
        let mut text = String::new();
        let mut after = quoted;
        loop {
            let (part, next) = after.split_once('"')?;
            text.push_str(part);
            after = next;
            match after.strip_prefix('"') {
                Some(next) => {
                    text.push('"');
                    after = next;
                }
                None => break,
            }
        }
        found.push(Cow::Owned(text));
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None => return after.is_empty().then_some(found),
        }
    }
}

/// The columns of a header.
#[derive(Clone, Debug, Default)]
pub(super) struct Header(Vec<String>);

impl Header {
    /// The header of a line.
    pub(super) fn new(line: &str) -> Option<Self> {
        let names = fields(line)?;
        let names = names.iter().map(|name| name.trim().to_owned());
        Some(Self(names.collect()))
    }

    /// The header of a file that has none.
    pub(super) fn of(names: &[&str]) -> Self {
        Self(names.iter().map(|name| (*name).to_owned()).collect())
    }

    /// Whether it has all these columns.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        names.iter().all(|name| self.index(name).is_some())
    }

    /// A name that several columns have. Columns without a name have no meaning.
    pub(super) fn duplicate(&self) -> Option<&str> {
        let names = self.0.iter().enumerate();
        let mut again = names.filter(|(index, name)| self.0[..*index].contains(name));
        let again = again.find(|(_, name)| !name.is_empty());
        again.map(|(_, name)| name.as_str())
    }

    /// The index of a column.
    pub(super) fn index(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|known| known == name)
    }

    /// The names of the columns.
    pub(super) fn names(&self) -> &[String] {
        &self.0
    }
}

/// A record with its header.
pub(super) struct Record<'a> {
    pub(super) header: &'a Header,
    pub(super) fields: Vec<Cow<'a, str>>,
}

impl Record<'_> {
    /// The value of a column; empty without it.
    pub(super) fn get(&self, name: &str) -> &str {
        let index = self.header.index(name);
        index
            .and_then(|index| self.fields.get(index))
            .map_or("", |value| value.trim())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_enclose_commas_and_double_quotes() {
        let all = |line| fields(line).map(|found| found.join("|"));
        assert_eq!(all("a,b,"), Some("a|b|".to_owned()));
        assert_eq!(
            all(r#""a,b","say ""x""",c"#),
            Some(r#"a,b|say "x"|c"#.to_owned())
        );
        assert_eq!(all(r#"a,"b"#), None);
        assert_eq!(all(r#""a"b,c"#), None);
    }
}
