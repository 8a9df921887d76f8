//! Parses scripts by recursive descent.

use std::sync::{Arc, OnceLock};

use super::ast::{AndOr, Command, Compound, Connector, List, Pipeline, Word};

/// Maximum length of a script, in bytes.
const SCRIPT: usize = 1 << 20;
/// Maximum nesting depth.
const DEPTH: usize = 40;

/// Maximum number of constructs, including those that are parsed twice.
const WORK: usize = 200_000;

/// Maximum number of errors after which a script is parsed on.
const MAX_ERRORS: usize = 100;

/// The shell that a script is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `sh`
    Posix,
    /// `bash`
    Bash,
}

impl Dialect {
    /// The dialect of a shell by its file name.
    pub fn of(shell: &str) -> Self {
        match shell {
            "bash" | "zsh" => Self::Bash,
            _ => Self::Posix,
        }
    }
}

/// The error of parsing a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// More lines are needed.
    Incomplete,
    /// This text is unexpected on this line.
    Unexpected(String, usize),
    /// A limit is exceeded.
    TooComplex,
}

/// The words that end a list.
const CLOSING: [&str; 9] = [
    "then", "else", "elif", "fi", "do", "done", "esac", "}", "in",
];

/// Parses a script.
///
/// # Errors
/// The script is incomplete, has an unexpected word or operator, or exceeds a limit.
pub fn parse(script: &str, dialect: Dialect) -> Result<List, ParseError> {
    if script.len() > SCRIPT {
        return Err(ParseError::TooComplex);
    }
    let mut parser = Parser::new(script.chars().collect(), dialect, 0);
    let list = parser.list()?;
    parser.finish_here_documents()?;
    match parser.peek() {
        None => Ok(list),
        Some(_) => Err(parser.unexpected()),
    }
}

/// Parses the lines of a script that can be parsed. Commands with an error are skipped from the line on which they
/// start to the next one.
///
/// # Errors
/// The script is too long.
pub fn parse_leniently(script: &str, dialect: Dialect) -> Result<List, ParseError> {
    if script.len() > SCRIPT {
        return Err(ParseError::TooComplex);
    }
    let mut parser = Parser::new(script.chars().collect(), dialect, 0);
    let mut list = List::default();
    let mut errors = 0;
    loop {
        let begin = parser.at;
        match parser.item() {
            Ok(Some(item)) => list.items.push(item),
            Ok(None) if parser.peek().is_none() => break,
            Ok(None) | Err(_) => {
                errors += 1;
                if errors > MAX_ERRORS {
                    break;
                }
                parser.skip_line(begin);
            }
        }
    }
    // A here-document without an end has no text.
    let _ = parser.finish_here_documents();
    Ok(list)
}

/// A position in a script.
pub(super) struct Parser {
    pub(super) text: Vec<char>,
    pub(super) at: usize,
    pub(super) dialect: Dialect,
    pub(super) depth: usize,
    /// The number of constructs that were entered.
    work: usize,
    /// Here-documents that start on the next line: their text, delimiter, whether it was quoted, and
    /// whether leading tabs are removed.
    pub(super) here_documents: Vec<(Arc<OnceLock<Word>>, String, bool, bool)>,
}

impl Parser {
    pub(super) fn new(text: Vec<char>, dialect: Dialect, depth: usize) -> Self {
        Self {
            text,
            at: 0,
            dialect,
            depth,
            work: 0,
            here_documents: Vec::new(),
        }
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<char> {
        self.text.get(self.at + ahead).copied()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += 1;
        Some(c)
    }

    pub(super) fn accept(&mut self, text: &str) -> bool {
        let found = text
            .chars()
            .enumerate()
            .all(|(ahead, c)| self.peek_at(ahead) == Some(c));
        self.at += if found { text.chars().count() } else { 0 };
        found
    }

    /// Enters a nested construct.
    pub(super) fn enter(&mut self) -> Result<(), ParseError> {
        self.depth += 1;
        self.work += 1;
        match self.depth <= DEPTH && self.work <= WORK {
            true => Ok(()),
            false => Err(ParseError::TooComplex),
        }
    }

    pub(super) fn unexpected(&self) -> ParseError {
        let line = self.text[..self.at.min(self.text.len())]
            .iter()
            .filter(|c| **c == '\n')
            .count();
        let rest = &self.text[self.at.min(self.text.len())..];
        let Some(first) = rest.first() else {
            return ParseError::Incomplete;
        };
        let token: String = match first {
            '\n' => "newline".into(),
            ';' | '&' | '|' | '(' | ')' | '<' | '>' => {
                rest.iter().take_while(|c| *c == first).take(2).collect()
            }
            _ => {
                let is_word = |c: &&char| !c.is_whitespace() && !";&|()<>".contains(**c);
                rest.iter().take_while(is_word).take(40).collect()
            }
        };
        ParseError::Unexpected(token, line + 1)
    }

    /// Goes to the line after the next text from `begin` on.
    fn skip_line(&mut self, begin: usize) {
        self.depth = 0;
        self.here_documents.clear();
        self.at = begin;
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
        while self.next().is_some_and(|c| c != '\n') {}
    }

    /// Skips blanks, continued lines and comments.
    pub(super) fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                Some(' ' | '\t' | '\r') => self.at += 1,
                Some('\\') if self.peek_at(1) == Some('\n') => self.at += 2,
                Some('#') => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    pub(super) fn newline(&mut self) -> Result<bool, ParseError> {
        if self.peek() != Some('\n') {
            return Ok(false);
        }
        self.at += 1;
        self.finish_here_documents()?;
        Ok(true)
    }

    pub(super) fn skip_newlines(&mut self) -> Result<(), ParseError> {
        loop {
            self.skip_blanks();
            if !self.newline()? {
                return Ok(());
            }
        }
    }

    /// The unquoted word at this position.
    pub(super) fn keyword(&self) -> String {
        let rest = &self.text[self.at.min(self.text.len())..];
        let end = rest
            .iter()
            .position(|c| c.is_whitespace() || ";&|()<>".contains(*c))
            .unwrap_or(rest.len());
        rest[..end.min(16)].iter().collect()
    }

    pub(super) fn accept_keyword(&mut self, word: &str) -> bool {
        let found = self.keyword() == word;
        self.at += if found { word.len() } else { 0 };
        found
    }

    pub(super) fn expect_keyword(&mut self, word: &str) -> Result<(), ParseError> {
        self.skip_newlines()?;
        match self.accept_keyword(word) {
            true => Ok(()),
            false => Err(self.unexpected()),
        }
    }

    /// Commands up to a word or operator that ends a list.
    pub(super) fn list(&mut self) -> Result<List, ParseError> {
        self.enter()?;
        let mut list = List::default();
        while let Some(item) = self.item()? {
            list.items.push(item);
        }
        self.depth -= 1;
        Ok(list)
    }

    /// The next commands of a list, and whether they run in the background; `None` at its end.
    fn item(&mut self) -> Result<Option<(AndOr, bool)>, ParseError> {
        self.skip_newlines()?;
        match self.peek() {
            None | Some(')') => return Ok(None),
            Some(';') if self.peek_at(1) == Some(';') => return Ok(None),
            Some(_) => {}
        }
        let word = self.keyword();
        if CLOSING.contains(&word.as_str()) && word != "in" {
            return Ok(None);
        }
        let item = self.and_or()?;
        self.skip_blanks();
        let background = match (self.peek(), self.peek_at(1)) {
            (Some(';'), Some(';')) => false,
            (Some(';'), _) => {
                self.at += 1;
                false
            }
            (Some('&'), _) => {
                self.at += 1;
                true
            }
            _ => false,
        };
        self.skip_blanks();
        Ok(Some((item, background)))
    }

    /// The list of a command substitution.
    pub(super) fn nested_list(&mut self) -> Result<List, ParseError> {
        let outer = std::mem::take(&mut self.here_documents);
        let list = self.list()?;
        self.here_documents = outer;
        Ok(list)
    }

    /// A list that is not empty.
    pub(super) fn commands(&mut self) -> Result<List, ParseError> {
        let list = self.list()?;
        match list.items.is_empty() {
            true => Err(self.unexpected()),
            false => Ok(list),
        }
    }

    fn and_or(&mut self) -> Result<AndOr, ParseError> {
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        loop {
            self.skip_blanks();
            let connector = match (self.peek(), self.peek_at(1)) {
                (Some('&'), Some('&')) => Connector::And,
                (Some('|'), Some('|')) => Connector::Or,
                _ => return Ok(AndOr { first, rest }),
            };
            self.at += 2;
            self.skip_newlines()?;
            rest.push((connector, self.pipeline()?));
        }
    }

    fn pipeline(&mut self) -> Result<Pipeline, ParseError> {
        let mut negated = false;
        while self.keyword() == "!" {
            self.at += 1;
            negated = !negated;
            self.skip_blanks();
        }
        let mut commands = vec![self.command()?];
        loop {
            self.skip_blanks();
            if self.peek() != Some('|') || self.peek_at(1) == Some('|') {
                return Ok(Pipeline { negated, commands });
            }
            self.at += 1;
            self.accept("&");
            self.skip_newlines()?;
            commands.push(self.command()?);
        }
    }

    pub(super) fn command(&mut self) -> Result<Command, ParseError> {
        self.enter()?;
        self.skip_blanks();
        let is_bash = self.dialect == Dialect::Bash;
        let compound = match self.keyword().as_str() {
            "if" => Some(self.if_clause()?),
            "while" => Some(self.while_loop("while")?),
            "until" => Some(self.while_loop("until")?),
            "for" => Some(self.for_loop()?),
            "case" => Some(self.case()?),
            "{" => {
                self.at += 1;
                let body = self.commands()?;
                self.expect_keyword("}")?;
                Some(Compound::Group(body))
            }
            "[[" if is_bash => Some(self.condition()?),
            "function" if is_bash => {
                self.at += "function".len();
                self.skip_blanks();
                let name = self.name();
                self.skip_blanks();
                if self.accept("(") {
                    self.skip_blanks();
                    self.expect(')')?;
                }
                let command = self.function_body(name)?;
                self.depth -= 1;
                return Ok(command);
            }
            word if CLOSING.contains(&word) && word != "in" => return Err(self.unexpected()),
            _ if self.peek() == Some('(') => {
                self.at += 1;
                if is_bash && self.starts_arithmetic() {
                    self.at += 1;
                    Some(Compound::Arithmetic(self.arithmetic_text()?))
                } else {
                    let body = self.commands()?;
                    self.expect(')')?;
                    Some(Compound::Subshell(body))
                }
            }
            _ => None,
        };
        let command = match compound {
            Some(compound) => {
                let redirects = self.redirects()?;
                Command::Compound(Box::new(compound), redirects)
            }
            None => self.simple_command()?,
        };
        self.depth -= 1;
        Ok(command)
    }

    pub(super) fn expect(&mut self, c: char) -> Result<(), ParseError> {
        match self.peek() == Some(c) {
            true => {
                self.at += 1;
                Ok(())
            }
            false => Err(self.unexpected()),
        }
    }

    /// A name, empty if there is none.
    pub(super) fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(c) = self.peek().filter(|c| {
            *c == '_' || c.is_ascii_alphabetic() || (!name.is_empty() && c.is_ascii_digit())
        }) {
            name.push(c);
            self.at += 1;
        }
        name
    }
}
