//! Tokens of a program.

use super::syntax_error::SyntaxError;

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Number(f64),
    Text(String),
    Regex(String),
    /// A variable, an array or a keyword.
    Name(String),
    /// A name directly before a parenthesis: a function.
    Function(String),
    /// An operator or punctuation; a newline is `\n`.
    Symbol(&'static str),
}

/// Longer symbols come first.
const SYMBOLS: [&str; 39] = [
    "**=", "&&", "||", "++", "--", "+=", "-=", "*=", "/=", "%=", "^=", "==", "<=", ">=", "!=",
    "!~", ">>", "**", "{", "}", "(", ")", "[", "]", ";", ",", "+", "-", "*", "/", "%", "^", "!",
    ">", "<", "~", "?", ":", "=",
];
const KEYWORDS: [&str; 12] = [
    "if", "else", "while", "for", "do", "in", "print", "printf", "next", "exit", "delete", "BEGIN",
];

/// The tokens of a program.
///
/// # Errors
/// A text is not a token.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, SyntaxError> {
    let mut found: Vec<Token> = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("\\\n") {
            rest = after;
        } else if c == '\n' {
            found.push(Token::Symbol("\n"));
            rest = &rest[1..];
        } else if c.is_whitespace() {
            rest = &rest[c.len_utf8()..];
        } else if c == '#' {
            rest = rest.find('\n').map_or("", |at| &rest[at..]);
        } else if c == '"' {
            let (token, after) = quoted(&rest[1..], '"')?;
            found.push(Token::Text(unescaped(token)));
            rest = after;
        } else if c == '/' && !is_operand(found.last()) {
            let (token, after) = quoted(&rest[1..], '/')?;
            found.push(Token::Regex(token.replace("\\/", "/")));
            rest = after;
        } else if c.is_ascii_digit() || (c == '.' && starts_number(&rest[1..])) {
            let length = number_length(rest);
            let number = rest[..length].parse();
            let number = number.map_err(|_| SyntaxError::Number(rest[..length].to_owned()))?;
            found.push(Token::Number(number));
            rest = &rest[length..];
        } else if c.is_alphabetic() || c == '_' {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
            let (name, after) = rest.split_at(end.unwrap_or(rest.len()));
            let is_function = after.starts_with('(') && !KEYWORDS.contains(&name);
            found.push(match is_function {
                true => Token::Function(name.into()),
                false => Token::Name(name.into()),
            });
            rest = after;
        } else if c == '$' {
            found.push(Token::Symbol("$"));
            rest = &rest[1..];
        } else {
            let symbol = SYMBOLS.iter().find(|symbol| rest.starts_with(*symbol));
            let symbol = symbol.ok_or(SyntaxError::Character(c))?;
            found.push(Token::Symbol(symbol));
            rest = &rest[symbol.len()..];
        }
    }
    Ok(found)
}

/// Whether a slash after this token is a division.
fn is_operand(token: Option<&Token>) -> bool {
    match token {
        Some(Token::Number(_) | Token::Text(_)) => true,
        Some(Token::Name(name)) => !KEYWORDS.contains(&name.as_str()) && name != "END",
        Some(Token::Symbol(symbol)) => matches!(*symbol, ")" | "]" | "++" | "--" | "$"),
        _ => false,
    }
}

fn starts_number(rest: &str) -> bool {
    rest.starts_with(|c: char| c.is_ascii_digit())
}

/// The length of the number at the start of a text.
pub(super) fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let sign = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let mut end = digits(sign);
    let mut has_digits = end > sign;
    if bytes.get(end) == Some(&b'.') {
        let fraction = digits(end + 1);
        has_digits |= fraction > end + 1;
        end = fraction;
    }
    if !has_digits {
        return 0;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        if exponent > end + 1 + sign {
            end = exponent;
        }
    }
    end
}

/// The text up to an unescaped delimiter, and what follows it.
fn quoted(text: &str, end: char) -> Result<(&str, &str), SyntaxError> {
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '\n' => break,
            c if c == end => return Ok((&text[..at], &text[at + c.len_utf8()..])),
            _ => {}
        }
    }
    Err(match end {
        '"' => SyntaxError::UnterminatedString,
        _ => SyntaxError::UnterminatedRegexp,
    })
}

/// A string with its escape sequences replaced.
pub(super) fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut letters = text.chars();
    while let Some(c) = letters.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match letters.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some(c @ ('"' | '\\' | '/')) => out.push(c),
            Some(c) => out.extend(['\\', c]),
            None => out.push('\\'),
        }
    }
    out
}
