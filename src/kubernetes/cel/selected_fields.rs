//! The fields that an expression selects of its variables, so that no other field of a value has to
//! be converted.

use std::collections::BTreeMap;

use kube_cel::cel::common::ast::{EntryExpr, Expr, IdedExpr};

/// The parts of a value that an expression needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelectedFields {
    /// Whether it needs all of the value.
    pub whole: bool,
    /// Whether it needs the number of items, if the value is a list.
    pub length: bool,
    /// The fields that it selects, by their names in the expression. If it needs nothing else of a
    /// value, it tests only whether the value is there.
    pub fields: BTreeMap<String, SelectedFields>,
}

/// The parts that an expression needs of each of its variables. A variable of a comprehension
/// counts for the variable that it hides: there may be parts that are not needed, and none is
/// missing.
pub(crate) fn selected_fields(expression: &IdedExpr) -> BTreeMap<String, SelectedFields> {
    let mut variables = SelectedFields::default();
    select(expression, &mut variables);
    variables.fields
}

fn select(e: &IdedExpr, variables: &mut SelectedFields) {
    match &e.expr {
        Expr::Ident(_) | Expr::Select(_) => match variables.part(e) {
            Some(part) => part.whole |= !is_test(e),
            None => operand(e).into_iter().for_each(|e| select(e, variables)),
        },
        Expr::Call(call) => {
            let parts: Vec<_> = call
                .target
                .as_deref()
                .into_iter()
                .chain(&call.args)
                .collect();
            if let ("size", &[sized]) = (call.func_name.as_str(), parts.as_slice())
                && !is_test(sized)
                && let Some(part) = variables.part(sized)
            {
                part.length = true;
                return;
            }
            parts.into_iter().for_each(|e| select(e, variables));
        }
        Expr::Comprehension(fold) => {
            let parts = [&fold.iter_range, &fold.accu_init, &fold.loop_cond];
            let parts = parts.into_iter().chain([&fold.loop_step, &fold.result]);
            parts.for_each(|e| select(e, variables));
        }
        Expr::List(list) => list.elements.iter().for_each(|e| select(e, variables)),
        Expr::Map(map) => map
            .entries
            .iter()
            .for_each(|e| select_entry(&e.expr, variables)),
        Expr::Struct(literal) => literal
            .entries
            .iter()
            .for_each(|e| select_entry(&e.expr, variables)),
        Expr::Literal(_) | Expr::Unspecified => {}
    }
}

fn select_entry(entry: &EntryExpr, variables: &mut SelectedFields) {
    match entry {
        EntryExpr::StructField(field) => select(&field.value, variables),
        EntryExpr::MapEntry(entry) => {
            select(&entry.key, variables);
            select(&entry.value, variables);
        }
    }
}

/// Whether an expression is `has(...)`.
fn is_test(e: &IdedExpr) -> bool {
    matches!(&e.expr, Expr::Select(select) if select.test)
}

fn operand(e: &IdedExpr) -> Option<&IdedExpr> {
    match &e.expr {
        Expr::Select(select) => Some(&select.operand),
        _ => None,
    }
}

impl SelectedFields {
    /// The entry of a variable or of a field of it; `None` for other expressions. The test of a
    /// field is only the last selection of a path: what selects its result is another expression.
    fn part(&mut self, e: &IdedExpr) -> Option<&mut Self> {
        match &e.expr {
            Expr::Ident(name) => Some(self.fields.entry(name.clone()).or_default()),
            Expr::Select(select) if !is_test(&select.operand) => {
                let operand = self.part(&select.operand)?;
                Some(operand.fields.entry(select.field.clone()).or_default())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse;

    /// The parts of `self` as paths: `+` the whole value, `#` its length, `?` its presence.
    fn parts(text: &str) -> Vec<String> {
        fn add(path: &str, part: &SelectedFields, paths: &mut Vec<String>) {
            let marks = [(part.whole, '+'), (part.length, '#')];
            let marks = marks.into_iter().filter(|(is_set, _)| *is_set);
            paths.extend(marks.map(|(_, mark)| format!("{path}{mark}")));
            if *part == SelectedFields::default() {
                paths.push(format!("{path}?"));
            }
            for (name, part) in &part.fields {
                add(&format!("{path}.{name}"), part, paths);
            }
        }
        let mut paths = Vec::new();
        if let Some(part) = selected_fields(&parse(text).unwrap()).get("self") {
            add("", part, &mut paths);
        }
        paths
    }

    #[test]
    fn selections_tests_and_lengths_of_variables_are_found() {
        let cases: [(&str, &[&str]); 13] = [
            ("self.a.b == 1", &[".a.b+"]),
            ("has(self.a) && has(self.a.b)", &[".a.b?"]),
            ("has(self.a) ? self.a == 'x' : true", &[".a+"]),
            ("size(self.a) == 0 || self.b.size() > 1", &[".a#", ".b#"]),
            ("size(self.a) > 0 && self.a[0] == 1", &[".a+", ".a#"]),
            ("self.a.exists(c, c.type == 'X' && c.on)", &[".a+"]),
            ("self.a.map(c, self.b)", &[".a+", ".b+"]),
            ("self.all(x, x.a == 1)", &["+"]),
            ("self == oldSelf", &["+"]),
            (
                "{'k': self.a, self.k: [self.b]}.size() == 2",
                &[".a+", ".b+", ".k+"],
            ),
            ("[1].all(self, self.a == 1)", &[".a+"]),
            ("self.a['b'].c == 1", &[".a+"]),
            ("oldSelf.a == 1", &[]),
        ];
        for (text, expected) in cases {
            assert_eq!(parts(text), expected, "{text}");
        }
    }
}
