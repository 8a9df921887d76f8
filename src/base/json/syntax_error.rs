//! JSON syntax errors worded as Go's `encoding/json`. Used only for texts that the parser has rejected.

enum Expected {
    /// A value; if true, `]` is also allowed.
    Value(bool),
    /// An object key; if true, `}` is also allowed.
    Key(bool),
    Colon,
    /// A comma or the closing bracket.
    Next,
}

/// The message of Go's `encoding/json` for the first syntax error; `None` if the text is valid.
pub fn go_syntax_error(body: &[u8]) -> Option<String> {
    let mut open: Vec<u8> = Vec::new();
    let mut want = Expected::Value(false);
    let mut at = 0;
    loop {
        at += body[at..]
            .iter()
            .take_while(|b| b" \t\r\n".contains(b))
            .count();
        let Some(&c) = body.get(at) else {
            let whole = open.is_empty() && matches!(want, Expected::Next);
            return (!whole).then(|| "unexpected end of JSON input".into());
        };
        let (next, length) = match (want, c) {
            (Expected::Value(_), b'{') => {
                open.push(b'{');
                (Expected::Key(true), 1)
            }
            (Expected::Value(_), b'[') => {
                open.push(b'[');
                (Expected::Value(true), 1)
            }
            (Expected::Value(true), b']') => {
                open.pop();
                (Expected::Next, 1)
            }
            (Expected::Value(_), _) => match scalar(&body[at..]) {
                Ok(length) => (Expected::Next, length),
                Err(text) => return Some(text),
            },
            (Expected::Key(true), b'}') => {
                open.pop();
                (Expected::Next, 1)
            }
            (Expected::Key(_), b'"') => match string(&body[at..]) {
                Ok(length) => (Expected::Colon, length),
                Err(text) => return Some(text),
            },
            (Expected::Key(_), _) => {
                return Some(bad(c, "looking for beginning of object key string"));
            }
            (Expected::Colon, b':') => (Expected::Value(false), 1),
            (Expected::Colon, _) => return Some(bad(c, "after object key")),
            (Expected::Next, _) => match (open.last(), c) {
                (Some(b'{'), b',') => (Expected::Key(false), 1),
                (Some(b'['), b',') => (Expected::Value(false), 1),
                (Some(b'{'), b'}') | (Some(b'['), b']') => {
                    open.pop();
                    (Expected::Next, 1)
                }
                (Some(b'{'), _) => return Some(bad(c, "after object key:value pair")),
                (Some(_), _) => return Some(bad(c, "after array element")),
                (None, _) => return Some(bad(c, "after top-level value")),
            },
        };
        want = next;
        at += length;
    }
}

fn bad(c: u8, context: &str) -> String {
    let shown = match c {
        b'\'' => "\\'".into(),
        b'"' => "\"".into(),
        b'\n' => "\\n".into(),
        b'\t' => "\\t".into(),
        b'\r' => "\\r".into(),
        0x20..=0x7e => char::from(c).to_string(),
        0..=0x1f | 0x7f => format!("\\x{c:02x}"),
        _ => char::from(c).to_string(),
    };
    format!("invalid character '{shown}' {context}")
}

const END: &str = "unexpected end of JSON input";

/// The length of the string, number or literal at the start of `text`.
fn scalar(text: &[u8]) -> Result<usize, String> {
    match text.first() {
        Some(b'"') => string(text),
        Some(b't') => word(text, "true"),
        Some(b'f') => word(text, "false"),
        Some(b'n') => word(text, "null"),
        Some(b'-' | b'0'..=b'9') => number(text),
        Some(&c) => Err(bad(c, "looking for beginning of value")),
        None => Err(END.into()),
    }
}

fn word(text: &[u8], word: &str) -> Result<usize, String> {
    for (i, want) in word.bytes().enumerate() {
        let Some(&c) = text.get(i) else {
            return Err(END.into());
        };
        if c != want {
            let want = char::from(want);
            return Err(bad(c, &format!("in literal {word} (expecting '{want}')")));
        }
    }
    Ok(word.len())
}

fn number(text: &[u8]) -> Result<usize, String> {
    let digits = |at: usize, context: &str| {
        let n = text[at..].iter().take_while(|b| b.is_ascii_digit()).count();
        match (n, text.get(at)) {
            (0, None) => Err(END.to_string()),
            (0, Some(&c)) => Err(bad(c, context)),
            _ => Ok(at + n),
        }
    };
    let mut at = usize::from(text.first() == Some(&b'-'));
    at = if text.get(at) == Some(&b'0') {
        at + 1
    } else {
        digits(at, "in numeric literal")?
    };
    if text.get(at) == Some(&b'.') {
        at = digits(at + 1, "after decimal point in numeric literal")?;
    }
    if let Some(b'e' | b'E') = text.get(at) {
        at += 1;
        at += usize::from(matches!(text.get(at), Some(b'+' | b'-')));
        at = digits(at, "in exponent of numeric literal")?;
    }
    Ok(at)
}

fn string(text: &[u8]) -> Result<usize, String> {
    let mut at = 1;
    loop {
        match text.get(at) {
            None => return Err(END.into()),
            Some(b'"') => return Ok(at + 1),
            Some(b'\\') => match text.get(at + 1) {
                None => return Err(END.into()),
                Some(b'u') => {
                    for i in at + 2..at + 6 {
                        match text.get(i) {
                            None => return Err(END.into()),
                            Some(c) if c.is_ascii_hexdigit() => {}
                            Some(&c) => {
                                return Err(bad(c, "in \\u hexadecimal character escape"));
                            }
                        }
                    }
                    at += 6;
                }
                Some(b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"') => at += 2,
                Some(&c) => return Err(bad(c, "in string escape code")),
            },
            Some(&c) if c < 0x20 => return Err(bad(c, "in string literal")),
            Some(_) => at += 1,
        }
    }
}
