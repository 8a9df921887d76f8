//! The offsets of operators in the source. The parser does not return them, but it numbers
//! expressions in the order of their operators in the source.

use std::collections::HashMap;

use kube_cel::cel::common::ast::{EntryExpr, Expr, IdedExpr};

/// The token of an operator by the name of its function.
const TOKENS: [(&str, &str); 18] = [
    ("_?_:_", "?"),
    ("_&&_", "&&"),
    ("_||_", "||"),
    ("!_", "!"),
    ("_-_", "-"),
    ("-_", "-"),
    ("_+_", "+"),
    ("_*_", "*"),
    ("_/_", "/"),
    ("_%_", "%"),
    ("_==_", "=="),
    ("_!=_", "!="),
    ("_>=_", ">="),
    ("_<=_", "<="),
    ("_>_", ">"),
    ("_<_", "<"),
    ("@in", "in"),
    ("_[_]", "["),
];

/// Tokens of two characters.
const PAIRS: [&str; 8] = ["&&", "||", "==", "!=", ">=", "<=", "[?", ".?"];

/// The offsets of the operators of an expression by their numbers.
pub(super) fn operator_offsets(source: &str, expression: &IdedExpr) -> HashMap<u64, usize> {
    let mut calls = Vec::new();
    operators(expression, &mut calls);
    calls.sort_unstable();
    let tokens = tokens(source);
    let mut offsets = HashMap::new();
    for token in TOKENS.map(|(_, token)| token) {
        let ids = calls.iter().filter(|(_, own)| *own == token);
        let ids: Vec<u64> = ids.map(|(id, _)| *id).collect();
        let found: Vec<usize> = tokens
            .iter()
            .filter(|(_, own)| *own == token)
            .map(|(at, _)| *at)
            .collect();
        // Otherwise it is unknown which is which.
        if ids.len() == found.len() {
            offsets.extend(ids.into_iter().zip(found));
        }
    }
    offsets
}

/// Whether a call is part of the expansion of a macro, such as `@result && x` of `all`.
pub(super) fn is_expansion(arguments: &[IdedExpr]) -> bool {
    let is_accumulator =
        |e: &IdedExpr| matches!(&e.expr, Expr::Ident(name) if name.starts_with('@'));
    arguments.iter().any(|argument| match &argument.expr {
        Expr::Call(call) if call.func_name == "_+_" => call.args.iter().any(is_accumulator),
        _ => is_accumulator(argument),
    })
}

/// The numbers and tokens of the operators in an expression.
fn operators(e: &IdedExpr, found: &mut Vec<(u64, &'static str)>) {
    match &e.expr {
        Expr::Call(call) => {
            let token = TOKENS.iter().find(|(name, _)| *name == call.func_name);
            if let Some((_, token)) = token
                && !is_expansion(&call.args)
            {
                found.push((e.id, token));
            }
            let target = call.target.as_deref();
            target
                .into_iter()
                .chain(&call.args)
                .for_each(|e| operators(e, found));
        }
        Expr::Select(select) => operators(&select.operand, found),
        Expr::List(list) => list.elements.iter().for_each(|e| operators(e, found)),
        Expr::Map(map) => {
            for entry in &map.entries {
                if let EntryExpr::MapEntry(entry) = &entry.expr {
                    operators(&entry.key, found);
                    operators(&entry.value, found);
                }
            }
        }
        Expr::Struct(literal) => {
            for entry in &literal.entries {
                if let EntryExpr::StructField(field) = &entry.expr {
                    operators(&field.value, found);
                }
            }
        }
        Expr::Comprehension(fold) => {
            for part in [
                &fold.iter_range,
                &fold.accu_init,
                &fold.loop_cond,
                &fold.loop_step,
                &fold.result,
            ] {
                operators(part, found);
            }
        }
        _ => {}
    }
}

/// The operators of the source with their offsets, without signs of number literals and brackets of
/// lists.
fn tokens(source: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut at = 0;
    // Whether the last token ends an operand.
    let mut after_operand = false;
    while let Some(rest) = source.get(at..).filter(|rest| !rest.is_empty()) {
        let Some(first) = rest.chars().next() else {
            break;
        };
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        }
        if let Some(length) = string_literal(rest) {
            at += length;
            after_operand = true;
            continue;
        }
        if first.is_alphanumeric() || first == '_' {
            let length = rest
                .find(|c: char| !c.is_alphanumeric() && c != '_')
                .unwrap_or(rest.len());
            let word = &rest[..length];
            if word == "in" {
                found.push((at, word));
            }
            after_operand = word != "in";
            at += length;
            continue;
        }
        let pair = PAIRS.into_iter().find(|pair| rest.starts_with(pair));
        let token = match pair {
            Some(pair) => pair,
            None => &rest[..first.len_utf8()],
        };
        let after = rest[token.len()..].trim_start();
        let is_literal = match token {
            "-" => !after_operand && after.starts_with(|c: char| c.is_ascii_digit()),
            "[" => !after_operand,
            _ => false,
        };
        if !is_literal {
            found.push((at, token));
        }
        after_operand = matches!(token, ")" | "]" | "}");
        at += token.len();
    }
    found
}

/// The length of the string literal at the start of a text.
fn string_literal(text: &str) -> Option<usize> {
    let prefix = text
        .find(|c: char| !matches!(c, 'r' | 'R' | 'b' | 'B'))
        .filter(|length| *length <= 2)?;
    let is_raw = text[..prefix].contains(['r', 'R']);
    let body = &text[prefix..];
    let quote = ["\"\"\"", "'''", "\"", "'"]
        .into_iter()
        .find(|quote| body.starts_with(quote))?;
    let mut at = quote.len();
    while let Some(rest) = body.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with(quote) {
            return Some(prefix + at + quote.len());
        }
        let mut letters = rest.chars();
        let first = letters.next().map_or(1, char::len_utf8);
        at += first;
        if !is_raw && rest.starts_with('\\') {
            at += letters.next().map_or(0, char::len_utf8);
        }
    }
    Some(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_operators() {
        let operators = |source| {
            let mut all = tokens(source);
            all.retain(|(_, token)| TOKENS.iter().any(|(_, own)| own == token));
            all
        };
        assert_eq!(
            operators("a - -1 == [b[0], \"x + \\\" y\"][1] // - 1\n in c"),
            [(2, "-"), (7, "=="), (12, "["), (28, "["), (40, "in")]
        );
        assert_eq!(
            operators("a.?b.orValue(-c) != r'\\' ? !d : e[?0]"),
            [(13, "-"), (17, "!="), (25, "?"), (27, "!")]
        );
    }
}
