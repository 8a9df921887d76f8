//! Parses expressions within the limits of cel-go's parser. The parser here is recursive and takes
//! much of the stack for each level, so deep expressions are parsed on a thread with a large one.

use kube_cel::cel::common::ast::{EntryExpr, Expr, IdedEntryExpr, IdedExpr};
use kube_cel::cel::parser::{Expression, Parser};

/// Maximum nesting depth, cel-go's `maxRecursionDepth`.
const MAX_DEPTH: usize = 250;
/// Maximum number of code points, cel-go's `expressionSizeCodePointLimit`.
const MAX_SIZE: usize = 100_000;
/// Up to this nesting and size an expression is parsed on the calling thread.
const INLINE_DEPTH: usize = 4;
const INLINE_SIZE: usize = 1_000;
/// The stack of the thread for other expressions, in bytes.
const STACK: usize = 256 << 20;

/// Why an expression is not parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// It has too many code points; the number.
    #[error("expression code point size exceeds limit: size: {0}, limit {MAX_SIZE}")]
    TooLarge(usize),
    /// It is nested too deep.
    #[error("expression recursion limit exceeded: {MAX_DEPTH}")]
    TooDeep,
    /// The message of the parser.
    #[error("{0}")]
    Syntax(String),
    /// The parser panics.
    #[error("internal error")]
    Internal,
    /// The thread of the parser is not started; the error of the system.
    #[error("{0}")]
    Thread(String),
}

/// Parses an expression.
///
/// # Errors
/// The limit or the syntax error.
pub(crate) fn parse(text: &str) -> Result<Expression, ParseError> {
    let size = text.chars().count();
    if size > MAX_SIZE {
        return Err(ParseError::TooLarge(size));
    }
    let depth = bracket_depth(text);
    if depth > MAX_DEPTH {
        return Err(ParseError::TooDeep);
    }
    if depth <= INLINE_DEPTH && size <= INLINE_SIZE {
        return parse_recursively(text);
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        let parsing = thread.spawn_scoped(scope, || parse_recursively(text));
        match parsing.map(|parsing| parsing.join()) {
            Ok(Ok(parsed)) => parsed,
            // The parser panics on a few expressions.
            Ok(Err(_)) => Err(ParseError::Internal),
            Err(error) => Err(ParseError::Thread(error.to_string())),
        }
    })
}

fn parse_recursively(text: &str) -> Result<Expression, ParseError> {
    let parse = || Parser::new().enable_optional_syntax(true).parse(text);
    let expression = std::panic::catch_unwind(parse)
        .map_err(|_| ParseError::Internal)?
        .map_err(|errors| ParseError::Syntax(errors.to_string()))?;
    match has_depth(&expression, MAX_DEPTH) {
        true => Err(ParseError::TooDeep),
        false => Ok(expression),
    }
}

/// The depth of brackets, with those in string literals.
fn bracket_depth(text: &str) -> usize {
    let (mut depth, mut most) = (0_usize, 0);
    for c in text.chars() {
        match c {
            '(' | '[' | '{' | '?' => depth += 1,
            ')' | ']' | '}' | ':' => depth = depth.saturating_sub(1),
            _ => {}
        }
        most = most.max(depth);
    }
    most
}

/// Whether an expression is nested deeper than `left` levels.
pub(crate) fn has_depth(e: &IdedExpr, left: usize) -> bool {
    let Some(left) = left.checked_sub(1) else {
        return true;
    };
    let deeper = |e: &IdedExpr| has_depth(e, left);
    match &e.expr {
        Expr::Select(select) => deeper(&select.operand),
        Expr::Call(call) => {
            call.target.as_deref().is_some_and(deeper) || call.args.iter().any(deeper)
        }
        Expr::List(list) => list.elements.iter().any(deeper),
        Expr::Map(map) => map.entries.iter().any(|entry| entry_has_depth(entry, left)),
        Expr::Struct(literal) => {
            let mut entries = literal.entries.iter();
            entries.any(|entry| entry_has_depth(entry, left))
        }
        Expr::Comprehension(fold) => [
            &fold.iter_range,
            &fold.accu_init,
            &fold.loop_cond,
            &fold.loop_step,
            &fold.result,
        ]
        .into_iter()
        .any(deeper),
        _ => false,
    }
}

fn entry_has_depth(entry: &IdedEntryExpr, left: usize) -> bool {
    match &entry.expr {
        EntryExpr::MapEntry(entry) => has_depth(&entry.key, left) || has_depth(&entry.value, left),
        EntryExpr::StructField(field) => has_depth(&field.value, left),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deep_and_large_expressions_are_rejected() {
        let nested = |depth: usize| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
        assert_eq!(parse(&nested(30)).map(drop), Ok(()));
        let too_deep = Err("expression recursion limit exceeded: 250".to_owned());
        let error = |text: &str| parse(text).map(|_| ()).map_err(|error| error.to_string());
        assert_eq!(error(&nested(1000)), too_deep);
        assert_eq!(error(&format!("a{}", ".a".repeat(2000))), too_deep);
        assert_eq!(error(&format!("1{}", " + 1".repeat(2000))), too_deep);
        assert!(parse(&format!("a{}", " && a".repeat(2000))).is_ok());
        let large = format!("'{}'", "x".repeat(MAX_SIZE));
        let message = "expression code point size exceeds limit: size: 100002, limit 100000";
        assert_eq!(error(&large), Err(message.to_owned()));
    }
}
