//! Variables in the templates of pipelines and workflows, such as `$(params.name)` and
//! `{{inputs.parameters.name}}`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::child_objects::text_of;

/// The variables of a template: the name between the brackets, and the value.
pub(super) type Variables = BTreeMap<String, Value>;

/// The brackets around the name of a variable.
#[derive(Clone, Copy)]
pub(super) struct Brackets {
    /// Before the name.
    pub open: &'static str,
    /// After the name.
    pub close: &'static str,
}

/// Replaces the variables in all strings of `value`. An item of a list that is only a variable with
/// a list as value is replaced by the items of that list. Unknown variables stay.
pub(super) fn substitute(value: &mut Value, variables: &Variables, brackets: Brackets) {
    match value {
        Value::String(text) => {
            if let Some(new) = replaced(text, variables, brackets) {
                *text = new;
            }
        }
        Value::Array(items) => {
            let old = std::mem::take(items);
            for mut item in old {
                match list(&item, variables, brackets) {
                    Some(all) => items.extend(all.iter().cloned()),
                    None => {
                        substitute(&mut item, variables, brackets);
                        items.push(item);
                    }
                }
            }
        }
        Value::Object(fields) => {
            let fields = fields.values_mut();
            fields.for_each(|field| substitute(field, variables, brackets));
        }
        _ => {}
    }
}

/// The value of an item that is only a variable with a list as value.
fn list<'a>(item: &Value, variables: &'a Variables, brackets: Brackets) -> Option<&'a Vec<Value>> {
    let name = item.as_str()?.strip_prefix(brackets.open)?;
    let name = name.strip_suffix(brackets.close)?;
    variables.get(name.trim())?.as_array()
}

/// The text with variables replaced; `None` if there are none.
fn replaced(text: &str, variables: &Variables, brackets: Brackets) -> Option<String> {
    let mut rest = text;
    let mut new = String::new();
    while let Some((before, after)) = rest.split_once(brackets.open) {
        let Some((name, tail)) = after.split_once(brackets.close) else {
            break;
        };
        new.push_str(before);
        match variables.get(name.trim()) {
            Some(value) => new.push_str(&text_of(value)),
            None => {
                new.push_str(brackets.open);
                new.push_str(name);
                new.push_str(brackets.close);
            }
        }
        rest = tail;
    }
    if rest.len() == text.len() {
        return None;
    }
    new.push_str(rest);
    Some(new)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PARENTHESES: Brackets = Brackets {
        open: "$(",
        close: ")",
    };

    #[test]
    fn variables_are_replaced() {
        let variables = Variables::from([
            ("params.a".to_owned(), json!("x")),
            ("params.n".to_owned(), json!(3)),
            ("params.list[*]".to_owned(), json!(["1", "2"])),
        ]);
        let mut value = json!({
            "script": "echo $(params.a) $(params.n) $(HOME) $(unknown.b",
            "args": ["--all", "$(params.list[*])", "-$(params.a)-"],
            "count": 2,
        });
        substitute(&mut value, &variables, PARENTHESES);
        assert_eq!(
            value,
            json!({
                "script": "echo x 3 $(HOME) $(unknown.b",
                "args": ["--all", "1", "2", "-x-"],
                "count": 2,
            })
        );
    }
}
