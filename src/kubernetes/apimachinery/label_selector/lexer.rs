//! Lexer of label selectors.

/// One token with its source text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// A key or value.
    Word(String),
    In,
    NotIn,
    Equal,
    DoubleEqual,
    NotEqual,
    Greater,
    Less,
    Not,
    Comma,
    Open,
    Close,
    /// Symbols that are not an operator.
    Error(String),
    End,
}

const SYMBOL_CHARS: &str = "=!(),><";

impl Token {
    /// The text in error messages.
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Word(w) | Self::Error(w) => w,
            Self::In => "in",
            Self::NotIn => "notin",
            Self::Equal => "=",
            Self::DoubleEqual => "==",
            Self::NotEqual => "!=",
            Self::Greater => ">",
            Self::Less => "<",
            Self::Not => "!",
            Self::Comma => ",",
            Self::Open => "(",
            Self::Close => ")",
            Self::End => "",
        }
    }
}

/// The tokens of `text`; the last one is [`Token::End`].
pub(crate) fn tokens(text: &str) -> Vec<Token> {
    let mut out = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, len) = if SYMBOL_CHARS.contains(first) {
            symbol(rest)
        } else {
            word(rest)
        };
        out.push(token);
        rest = rest[len..].trim_start();
    }
    out.push(Token::End);
    out
}

fn word(text: &str) -> (Token, usize) {
    let end = text
        .find(|c: char| c.is_whitespace() || SYMBOL_CHARS.contains(c))
        .unwrap_or(text.len());
    let token = match &text[..end] {
        "in" => Token::In,
        "notin" => Token::NotIn,
        w => Token::Word(w.into()),
    };
    (token, end)
}

fn symbol(text: &str) -> (Token, usize) {
    let token = match text.as_bytes() {
        [b'=', b'=', ..] => return (Token::DoubleEqual, 2),
        [b'!', b'=', ..] => return (Token::NotEqual, 2),
        [b'=', ..] => Token::Equal,
        [b'!', ..] => Token::Not,
        [b'(', ..] => Token::Open,
        [b')', ..] => Token::Close,
        [b',', ..] => Token::Comma,
        [b'>', ..] => Token::Greater,
        [b'<', ..] => Token::Less,
        _ => Token::Error(format!("error expected: keyword found '{text}'")),
    };
    (token, 1)
}
