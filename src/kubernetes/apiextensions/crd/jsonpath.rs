//! The subset of `k8s.io/client-go/util/jsonpath` that printer columns and selectable fields use:
//! `.a.b`, `['a.b']`, `[0]`, `[-1]`, `[0:2]`, `[*]`, `[?(@.type=="Ready")]`.

use serde_json::Value;

/// A parsed JSONPath.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JsonPath(Vec<Step>);

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Field(String),
    All,
    Index(i64),
    Slice(Option<i64>, Option<i64>),
    Filter(Filter),
}

/// A filter: `@.path op literal`, or `@.path` for existence.
#[derive(Clone, Debug, PartialEq)]
struct Filter {
    left: Vec<Step>,
    test: Option<(Op, Value)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// Why a text is not a path of the supported subset.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ParseJsonPathError {
    #[error("unexpected blank in {0:?}")]
    Blank(String),
    #[error("missing name in {0:?}")]
    MissingName(String),
    #[error("unterminated array in {0:?}")]
    UnterminatedArray(String),
    #[error("unexpected path {0:?}")]
    Unexpected(String),
    #[error("invalid array index {0:?}")]
    ArrayIndex(String),
    #[error("invalid filter {0:?}")]
    Filter(String),
}

impl JsonPath {
    /// Parses a path such as `.status.conditions[?(@.type=="Ready")].status`.
    ///
    /// # Errors
    /// The text is not a path of the supported subset.
    pub(crate) fn parse(text: &str) -> Result<Self, ParseJsonPathError> {
        let mut text = text.trim();
        if let Some(inner) = text.strip_prefix('{').and_then(|t| t.strip_suffix('}')) {
            text = inner.trim();
        }
        let text = text.strip_prefix('$').unwrap_or(text);
        steps(text).map(Self)
    }

    /// The values that the path selects.
    pub(crate) fn find<'v>(&self, value: &'v Value) -> Vec<&'v Value> {
        follow(&self.0, value)
    }
}

fn steps(text: &str) -> Result<Vec<Step>, ParseJsonPathError> {
    let mut out = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('.') {
            let mut name = String::new();
            let mut chars = after.char_indices();
            let mut end = after.len();
            while let Some((i, c)) = chars.next() {
                match c {
                    '.' | '[' => {
                        end = i;
                        break;
                    }
                    '\\' => name.extend(chars.next().map(|(_, c)| c)),
                    c if c.is_whitespace() => {
                        return Err(ParseJsonPathError::Blank(text.to_owned()));
                    }
                    c => name.push(c),
                }
            }
            rest = &after[end..];
            match name.as_str() {
                "" if rest.starts_with('[') => {}
                "" => return Err(ParseJsonPathError::MissingName(text.to_owned())),
                "*" => out.push(Step::All),
                _ => out.push(Step::Field(name)),
            }
        } else if let Some(after) = rest.strip_prefix('[') {
            let end = closing(after)
                .ok_or_else(|| ParseJsonPathError::UnterminatedArray(text.to_owned()))?;
            out.push(bracket(after[..end].trim())?);
            rest = &after[end + 1..];
        } else {
            return Err(ParseJsonPathError::Unexpected(text.to_owned()));
        }
    }
    Ok(out)
}

/// The position of the closing bracket; quoted strings and nested brackets are skipped.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0, None);
    for (i, c) in text.char_indices() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '[') => depth += 1,
            (None, ']') if depth == 0 => return Some(i),
            (None, ']') => depth -= 1,
            _ => {}
        }
    }
    None
}

fn bracket(text: &str) -> Result<Step, ParseJsonPathError> {
    let bad = || ParseJsonPathError::ArrayIndex(text.to_owned());
    if text == "*" {
        return Ok(Step::All);
    }
    if let Some(name) = quoted(text) {
        return Ok(Step::Field(name));
    }
    if let Some(filter) = text.strip_prefix("?(").and_then(|t| t.strip_suffix(')')) {
        return filtered(filter.trim()).map(Step::Filter);
    }
    let number = |s: &str| match s.trim() {
        "" => Ok(None),
        s => s.parse::<i64>().map(Some).map_err(|_| bad()),
    };
    match text.split_once(':') {
        Some((from, to)) => Ok(Step::Slice(number(from)?, number(to)?)),
        None => number(text)?.map(Step::Index).ok_or_else(bad),
    }
}

fn quoted(text: &str) -> Option<String> {
    let strip = |q: char| text.strip_prefix(q)?.strip_suffix(q);
    strip('\'')
        .or_else(|| strip('"'))
        .map(|s| s.replace('\\', ""))
}

fn filtered(text: &str) -> Result<Filter, ParseJsonPathError> {
    let ops = [
        ("==", Op::Eq),
        ("!=", Op::Ne),
        ("<=", Op::Le),
        (">=", Op::Ge),
        ("<", Op::Lt),
        (">", Op::Gt),
    ];
    let left = |text: &str| {
        let text = text.trim();
        let path = text
            .strip_prefix('@')
            .ok_or_else(|| ParseJsonPathError::Filter(text.to_owned()))?;
        steps(path)
    };
    let found = ops
        .iter()
        .filter_map(|(word, op)| Some((text.find(word)?, word, *op)));
    match found.min_by_key(|(at, word, _)| (*at, std::cmp::Reverse(word.len()))) {
        None => Ok(Filter {
            left: left(text)?,
            test: None,
        }),
        Some((at, word, op)) => {
            let right = text[at + word.len()..].trim();
            let value = match quoted(right) {
                Some(text) => Value::String(text),
                None => {
                    let value = serde_json::from_str(right);
                    value.map_err(|_| ParseJsonPathError::Filter(text.to_owned()))?
                }
            };
            Ok(Filter {
                left: left(&text[..at])?,
                test: Some((op, value)),
            })
        }
    }
}

fn follow<'v>(steps: &[Step], value: &'v Value) -> Vec<&'v Value> {
    let mut found = vec![value];
    for step in steps {
        found = found.into_iter().flat_map(|v| take(step, v)).collect();
    }
    found
}

fn take<'v>(step: &Step, value: &'v Value) -> Vec<&'v Value> {
    let position = |items: &[Value], i: i64| {
        let len = i64::try_from(items.len()).unwrap_or(i64::MAX);
        usize::try_from(if i < 0 { i + len } else { i }.clamp(0, len)).unwrap_or(0)
    };
    match (step, value) {
        (Step::Field(name), Value::Object(map)) => map.get(name).into_iter().collect(),
        (Step::All, Value::Object(map)) => map.values().collect(),
        (Step::All, Value::Array(items)) => items.iter().collect(),
        (Step::Index(i), Value::Array(items)) => {
            let inside = *i >= 0 || i.unsigned_abs() <= items.len() as u64;
            items
                .get(position(items, *i))
                .filter(|_| inside)
                .into_iter()
                .collect()
        }
        (Step::Slice(from, to), Value::Array(items)) => {
            let (from, to) = (
                from.map_or(0, |i| position(items, i)),
                to.map_or(items.len(), |i| position(items, i)),
            );
            items.get(from..to).unwrap_or_default().iter().collect()
        }
        (Step::Filter(filter), Value::Array(items)) => {
            items.iter().filter(|item| filter.passes(item)).collect()
        }
        _ => Vec::new(),
    }
}

impl Filter {
    fn passes(&self, item: &Value) -> bool {
        let found = follow(&self.left, item);
        let Some((op, right)) = &self.test else {
            return !found.is_empty();
        };
        let Some(left) = found.first() else {
            return false;
        };
        let order = match (left, right) {
            (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
            (Value::Number(a), Value::Number(b)) => a.as_f64().partial_cmp(&b.as_f64()),
            (a, b) => (**a == *b).then_some(std::cmp::Ordering::Equal),
        };
        match op {
            Op::Eq => order.is_some_and(std::cmp::Ordering::is_eq),
            Op::Ne => !order.is_some_and(std::cmp::Ordering::is_eq),
            Op::Lt => order.is_some_and(std::cmp::Ordering::is_lt),
            Op::Le => order.is_some_and(std::cmp::Ordering::is_le),
            Op::Gt => order.is_some_and(std::cmp::Ordering::is_gt),
            Op::Ge => order.is_some_and(std::cmp::Ordering::is_ge),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn find(path: &str, value: &Value) -> Vec<Value> {
        JsonPath::parse(path)
            .unwrap()
            .find(value)
            .into_iter()
            .cloned()
            .collect()
    }

    #[test]
    fn paths_select_values() {
        let v = json!({
            "a": {"b": [1, 2, 3]}, "m": {"x.y/z": "q"},
            "status": {"conditions": [
                {"type": "Ready", "status": "True"}, {"type": "Admitted", "status": "False"}]},
        });
        assert_eq!(find(".a.b[1]", &v), [json!(2)]);
        assert_eq!(find(".a.b[-1]", &v), [json!(3)]);
        assert_eq!(find(".a.b[0:2]", &v), [json!(1), json!(2)]);
        assert_eq!(find(".a.b[*]", &v).len(), 3);
        assert_eq!(find(".m['x.y/z']", &v), [json!("q")]);
        assert_eq!(find(r".m.x\.y/z", &v), [json!("q")]);
        let ready = ".status.conditions[?(@.type==\"Admitted\")].status";
        assert_eq!(find(ready, &v), [json!("False")]);
        assert_eq!(
            find(".status.conditions[?(@.type=='Nope')].status", &v),
            Vec::<Value>::new()
        );
        assert_eq!(find("{.a.b[9]}", &v), Vec::<Value>::new());
    }

    #[test]
    fn invalid_paths_are_rejected() {
        for text in ["a", ".a[", ".a[x]", ".a..", ".a[?(b==1)]", ". a"] {
            assert!(JsonPath::parse(text).is_err(), "{text}");
        }
    }
}
