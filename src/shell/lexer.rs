//! Splits a shell script into words and operators. Redirections, comments and here-documents are
//! dropped: nothing is written to files.

use std::iter::Peekable;
use std::str::Chars;

use super::expansion::brace_sequence;

/// Maximum nesting depth of brace expressions.
const BRACE_DEPTH: usize = 16;
/// Maximum number of characters and alternatives of the brace expressions of a script.
const BRACE_LETTERS: usize = 200_000;

/// A part of a word.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum WordPart {
    /// Literal text.
    Text(String),
    /// A variable and its default.
    Variable(String, Option<String>),
    /// A command substitution; the flag is set if it is quoted.
    Command(String, bool),
    /// An arithmetic expansion.
    Arithmetic(String),
    /// A brace expression with its alternatives.
    Braces(Vec<Vec<WordPart>>),
}

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Word(Vec<WordPart>),
    Operator(&'static str),
    /// The text of `((...))`.
    Arithmetic(String),
}

impl Token {
    /// The word if it is plain text.
    pub(super) fn plain(&self) -> Option<&str> {
        match self {
            Self::Word(pieces) => match &pieces[..] {
                [WordPart::Text(text)] => Some(text),
                _ => None,
            },
            Self::Operator(_) | Self::Arithmetic(_) => None,
        }
    }
}

/// The shell that a script is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// `sh`: no brace expansion and no `((...))`.
    Posix,
    /// `bash` and `zsh`.
    Bash,
}

impl Dialect {
    /// The dialect of a shell by its file name.
    pub(super) fn of(shell: &str) -> Self {
        match shell {
            "bash" | "zsh" => Self::Bash,
            _ => Self::Posix,
        }
    }
}

/// Splits a script.
pub(super) fn tokenize(script: &str, dialect: Dialect) -> Vec<Token> {
    tokenize_within(script, dialect, BRACE_DEPTH, &mut { BRACE_LETTERS })
}

/// Splits a script or an alternative of a brace expression.
fn tokenize_within(
    script: &str,
    dialect: Dialect,
    brace_depth: usize,
    brace_letters: &mut usize,
) -> Vec<Token> {
    let mut lexer = Lexer {
        rest: script.chars().peekable(),
        dialect,
        tokens: Vec::new(),
        word: None,
        here_document_delimiters: Vec::new(),
        brace_depth,
        brace_letters,
    };
    lexer.run();
    lexer.tokens
}

struct Lexer<'a> {
    rest: Peekable<Chars<'a>>,
    dialect: Dialect,
    tokens: Vec<Token>,
    word: Option<Vec<WordPart>>,
    /// Delimiters of here-documents that start on the next line.
    here_document_delimiters: Vec<String>,
    /// How deep brace expressions may be nested.
    brace_depth: usize,
    /// The number of characters that may be read in search of brace expressions, and of their
    /// alternatives; further braces are literal.
    brace_letters: &'a mut usize,
}

impl Lexer<'_> {
    fn run(&mut self) {
        while let Some(c) = self.rest.next() {
            match c {
                '\n' => {
                    self.operator("\n");
                    self.skip_here_documents();
                }
                ';' => self.operator(";"),
                '(' if self.is_arithmetic_command() => {
                    self.rest.next();
                    let expression = self.balanced(2);
                    self.tokens.push(Token::Arithmetic(expression));
                }
                '(' => self.operator("("),
                ')' => self.operator(")"),
                '&' if self.rest.next_if_eq(&'&').is_some() => self.operator("&&"),
                '&' if self.rest.next_if_eq(&'>').is_some() => self.redirection(),
                '&' => self.operator("&"),
                '|' if self.rest.next_if_eq(&'|').is_some() => self.operator("||"),
                '|' => self.operator("|"),
                '>' | '<' => {
                    // A number before it is a file descriptor, not an argument.
                    if self.word.as_deref().is_some_and(is_number) {
                        self.word = None;
                    }
                    self.end_word();
                    if c == '<' && self.rest.next_if_eq(&'<').is_some() {
                        self.here_document();
                    } else {
                        self.redirection();
                    }
                }
                '#' if self.word.is_none() => while self.rest.next_if(|c| *c != '\n').is_some() {},
                c if c.is_whitespace() => self.end_word(),
                c => self.word_part(c),
            }
        }
        self.end_word();
    }

    /// Whether `((` begins here, after the first parenthesis.
    fn is_arithmetic_command(&mut self) -> bool {
        self.dialect == Dialect::Bash && self.word.is_none() && self.rest.peek() == Some(&'(')
    }

    /// The brace expression after its opening brace, which is consumed: `a,b}`, `1..9}`. None if the
    /// brace is literal.
    fn brace_expression(&mut self) -> Option<Vec<Vec<WordPart>>> {
        let inner_depth = self.brace_depth.checked_sub(1)?;
        if self.dialect != Dialect::Bash {
            return None;
        }
        let (mut depth, mut text, mut ends) = (0, String::new(), Vec::new());
        let mut ahead = self.rest.clone();
        loop {
            let c = ahead.next()?;
            *self.brace_letters = self.brace_letters.checked_sub(1)?;
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => ends.push(text.len()),
                c if c.is_whitespace() || matches!(c, ';' | '|' | '&' | '\'' | '"') => return None,
                _ => {}
            }
            text.push(c);
        }
        let alternatives = match ends[..] {
            [] => brace_sequence(&text)?,
            _ => {
                let mut begin = 0;
                let mut parts = Vec::new();
                for end in ends.into_iter().chain([text.len()]) {
                    parts.push(text[begin..end].to_string());
                    begin = end + 1;
                }
                parts
            }
        };
        let left = self.brace_letters.checked_sub(alternatives.len());
        *self.brace_letters = left.unwrap_or(0);
        left?;
        self.rest = ahead;
        let letters = &mut *self.brace_letters;
        let word = |text: String| {
            let tokens = tokenize_within(&text, Dialect::Bash, inner_depth, letters);
            match tokens.into_iter().next() {
                Some(Token::Word(pieces)) => pieces,
                _ => vec![WordPart::Text(text)],
            }
        };
        Some(alternatives.into_iter().map(word).collect())
    }

    fn operator(&mut self, operator: &'static str) {
        self.end_word();
        self.tokens.push(Token::Operator(operator));
    }

    fn end_word(&mut self) {
        self.tokens.extend(self.word.take().map(Token::Word));
    }

    /// Skips a redirection: `>file`, `>>file`, `>&2`.
    fn redirection(&mut self) {
        self.rest.next_if(|c| matches!(c, '>' | '|'));
        self.rest.next_if_eq(&'&');
        while self.rest.next_if(|c| *c == ' ').is_some() {}
        let before = self.word.take();
        while let Some(c) = self
            .rest
            .next_if(|c| !c.is_whitespace() && !matches!(c, ';' | '|' | '&' | '(' | ')'))
        {
            self.word_part(c);
        }
        self.word = before;
    }

    fn here_document(&mut self) {
        self.rest.next_if_eq(&'-');
        let mut end = String::new();
        while let Some(c) = self.rest.next_if(|c| !c.is_whitespace() && *c != ';') {
            if !matches!(c, '\'' | '"') {
                end.push(c);
            }
        }
        self.here_document_delimiters.push(end);
    }

    fn skip_here_documents(&mut self) {
        for end in std::mem::take(&mut self.here_document_delimiters) {
            loop {
                let mut line = String::new();
                while let Some(c) = self.rest.next_if(|c| *c != '\n') {
                    line.push(c);
                }
                let over = self.rest.next().is_none();
                if over || line.trim() == end {
                    break;
                }
            }
        }
    }

    fn push(&mut self, piece: WordPart) {
        let word = self.word.get_or_insert_default();
        match (word.last_mut(), piece) {
            (Some(WordPart::Text(text)), WordPart::Text(more)) => text.push_str(&more),
            (_, piece) => word.push(piece),
        }
    }

    fn word_part(&mut self, c: char) {
        match c {
            '\'' => {
                let mut text = String::new();
                for c in self.rest.by_ref().take_while(|c| *c != '\'') {
                    text.push(c);
                }
                self.push(WordPart::Text(text));
            }
            '"' => self.quoted(),
            '\\' => match self.rest.next() {
                Some('\n') | None => {}
                Some(c) => self.push(WordPart::Text(c.into())),
            },
            '$' => self.dollar(false),
            '`' => {
                let command: String = self.rest.by_ref().take_while(|c| *c != '`').collect();
                self.push(WordPart::Command(command, false));
            }
            '{' => match self.brace_expression() {
                Some(alternatives) => self.push(WordPart::Braces(alternatives)),
                None => self.push(WordPart::Text("{".into())),
            },
            c => self.push(WordPart::Text(c.into())),
        }
    }

    fn quoted(&mut self) {
        self.push(WordPart::Text(String::new()));
        while let Some(c) = self.rest.next() {
            match c {
                '"' => return,
                '\\' => match self.rest.next() {
                    Some(c @ ('"' | '\\' | '$' | '`')) => self.push(WordPart::Text(c.into())),
                    Some('\n') | None => {}
                    Some(c) => self.push(WordPart::Text(format!("\\{c}"))),
                },
                '$' => self.dollar(true),
                '`' => {
                    let command: String = self.rest.by_ref().take_while(|c| *c != '`').collect();
                    self.push(WordPart::Command(command, true));
                }
                c => self.push(WordPart::Text(c.into())),
            }
        }
    }

    fn dollar(&mut self, quoted: bool) {
        if self.rest.next_if_eq(&'(').is_some() {
            let arithmetic = self.rest.next_if_eq(&'(').is_some();
            let inner = self.balanced(if arithmetic { 2 } else { 1 });
            self.push(if arithmetic {
                WordPart::Arithmetic(inner)
            } else {
                WordPart::Command(inner, quoted)
            });
        } else if self.rest.next_if_eq(&'{').is_some() {
            let inner: String = self.rest.by_ref().take_while(|c| *c != '}').collect();
            let name: String = inner
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            let rest = &inner[name.len()..];
            let instead = rest.strip_prefix(":-").or_else(|| rest.strip_prefix('-'));
            let instead = instead.map(str::to_string);
            self.push(WordPart::Variable(name, instead));
        } else if let Some(c) = self
            .rest
            .next_if(|c| matches!(c, '?' | '#' | '@' | '*' | '$'))
        {
            self.push(WordPart::Variable(c.into(), None));
        } else {
            let mut name = String::new();
            while let Some(c) = self.rest.next_if(|c| c.is_alphanumeric() || *c == '_') {
                name.push(c);
            }
            self.push(if name.is_empty() {
                WordPart::Text("$".into())
            } else {
                WordPart::Variable(name, None)
            });
        }
    }

    /// The text up to the parentheses that close `open` ones.
    fn balanced(&mut self, open: usize) -> String {
        let (mut depth, mut text) = (open, String::new());
        for c in self.rest.by_ref() {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
            if depth >= open {
                text.push(c);
            }
        }
        text
    }
}

fn is_number(pieces: &[WordPart]) -> bool {
    matches!(pieces, [WordPart::Text(text)] if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()))
}
