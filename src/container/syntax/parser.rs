//! Parses scripts by recursive descent.

use std::sync::{Arc, OnceLock};

use super::ast::{
    AndOr, AssignedValue, Assignment, CaseArm, Command, Compound, Connector, List, Pipeline,
    Redirect, RedirectKind, SimpleCommand, Word,
};
use super::word::{parse_here_document, text_of};

/// Maximum length of a script, in bytes.
const SCRIPT: usize = 1 << 20;
/// Maximum nesting depth.
const DEPTH: usize = 40;

/// Maximum number of constructs, including those that are parsed twice.
const WORK: usize = 200_000;

/// The shell that a script is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// `sh`
    Posix,
    /// `bash`
    Bash,
}

/// Why a script cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ParseError {
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
pub(crate) fn parse(script: &str, dialect: Dialect) -> Result<List, ParseError> {
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
    here_documents: Vec<(Arc<OnceLock<Word>>, String, bool, bool)>,
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

    fn newline(&mut self) -> Result<bool, ParseError> {
        if self.peek() != Some('\n') {
            return Ok(false);
        }
        self.at += 1;
        self.finish_here_documents()?;
        Ok(true)
    }

    fn skip_newlines(&mut self) -> Result<(), ParseError> {
        loop {
            self.skip_blanks();
            if !self.newline()? {
                return Ok(());
            }
        }
    }

    /// The unquoted word at this position.
    fn keyword(&self) -> String {
        let rest = &self.text[self.at.min(self.text.len())..];
        let end = rest
            .iter()
            .position(|c| c.is_whitespace() || ";&|()<>".contains(*c))
            .unwrap_or(rest.len());
        rest[..end.min(16)].iter().collect()
    }

    fn accept_keyword(&mut self, word: &str) -> bool {
        let found = self.keyword() == word;
        self.at += if found { word.len() } else { 0 };
        found
    }

    fn expect_keyword(&mut self, word: &str) -> Result<(), ParseError> {
        self.skip_newlines()?;
        match self.accept_keyword(word) {
            true => Ok(()),
            false => Err(self.unexpected()),
        }
    }

    /// Commands up to a word or operator that ends a list.
    fn list(&mut self) -> Result<List, ParseError> {
        self.enter()?;
        let mut list = List::default();
        loop {
            self.skip_newlines()?;
            match self.peek() {
                None | Some(')') => break,
                Some(';') if self.peek_at(1) == Some(';') => break,
                Some(_) => {}
            }
            let word = self.keyword();
            if CLOSING.contains(&word.as_str()) && word != "in" {
                break;
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
            list.items.push((item, background));
            self.skip_blanks();
        }
        self.depth -= 1;
        Ok(list)
    }

    /// The list of a command substitution.
    pub(super) fn nested_list(&mut self) -> Result<List, ParseError> {
        let outer = std::mem::take(&mut self.here_documents);
        let list = self.list()?;
        self.here_documents = outer;
        Ok(list)
    }

    /// A list that is not empty.
    fn commands(&mut self) -> Result<List, ParseError> {
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

    fn command(&mut self) -> Result<Command, ParseError> {
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

    fn expect(&mut self, c: char) -> Result<(), ParseError> {
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

    fn simple_command(&mut self) -> Result<Command, ParseError> {
        let mut command = SimpleCommand::default();
        loop {
            self.skip_blanks();
            if let Some(redirect) = self.redirect()? {
                command.redirects.push(redirect);
                continue;
            }
            if command.words.is_empty()
                && let Some(assignment) = self.assignment()?
            {
                command.assignments.push(assignment);
                continue;
            }
            let before = self.at;
            let Some(word) = self.word()? else { break };
            command.words.push(word);
            // A function definition.
            if command.words.len() == 1 && command.assignments.is_empty() {
                let name: String = self.text[before..self.at].iter().collect();
                self.skip_blanks();
                if self.peek() == Some('(') {
                    self.at += 1;
                    self.skip_blanks();
                    self.expect(')')?;
                    return self.function_body(name);
                }
            }
        }
        let is_empty = command.words.is_empty()
            && command.assignments.is_empty()
            && command.redirects.is_empty();
        match is_empty {
            true => Err(self.unexpected()),
            false => Ok(Command::Simple(command)),
        }
    }

    fn function_body(&mut self, name: String) -> Result<Command, ParseError> {
        self.skip_newlines()?;
        let body = self.command()?;
        Ok(Command::Function(name, Arc::new(body)))
    }

    fn assignment(&mut self) -> Result<Option<Assignment>, ParseError> {
        let before = self.at;
        let name = self.name();
        let is_bash = self.dialect == Dialect::Bash;
        let index = match is_bash && !name.is_empty() && self.accept("[") {
            // A pattern may start like an index.
            true => match self.arithmetic_until("]") {
                Ok(index) => Some(index),
                Err(_) => {
                    self.at = before;
                    return Ok(None);
                }
            },
            false => None,
        };
        let appends = is_bash && self.accept("+=");
        if name.is_empty() || !(appends || self.accept("=")) {
            self.at = before;
            return Ok(None);
        }
        let value = match is_bash && index.is_none() && self.accept("(") {
            true => AssignedValue::Elements(self.elements()?),
            false => AssignedValue::Text(self.word()?.unwrap_or_default()),
        };
        Ok(Some(Assignment {
            name,
            index,
            appends,
            value,
        }))
    }

    /// The elements of an array up to its closing parenthesis.
    fn elements(&mut self) -> Result<Vec<Word>, ParseError> {
        let mut elements = Vec::new();
        loop {
            self.skip_newlines()?;
            match self.word()? {
                Some(element) => elements.push(element),
                None => {
                    self.expect(')')?;
                    return Ok(elements);
                }
            }
        }
    }

    fn redirects(&mut self) -> Result<Vec<Redirect>, ParseError> {
        let mut all = Vec::new();
        loop {
            self.skip_blanks();
            match self.redirect()? {
                Some(redirect) => all.push(redirect),
                None => return Ok(all),
            }
        }
    }

    fn redirect(&mut self) -> Result<Option<Redirect>, ParseError> {
        let before = self.at;
        let mut digits = String::new();
        while let Some(c) = self.peek().filter(char::is_ascii_digit) {
            digits.push(c);
            self.at += 1;
        }
        let descriptor = digits.parse().ok();
        if descriptor.is_none() && self.accept("&>") {
            let kind = RedirectKind::WriteBoth(self.target()?);
            return Ok(Some(Redirect { descriptor, kind }));
        }
        let kind = if self.accept("<<<") {
            RedirectKind::HereString(self.target()?)
        } else if self.accept("<<") {
            self.here_document()?
        } else if self.accept("<&") || self.accept(">&") {
            RedirectKind::Duplicate(self.target()?)
        } else if self.accept(">>") {
            RedirectKind::Append(self.target()?)
        } else if self.accept(">|") || self.accept(">") {
            RedirectKind::Write(self.target()?)
        } else if self.accept("<") {
            RedirectKind::Read(self.target()?)
        } else {
            self.at = before;
            return Ok(None);
        };
        // Without a number, `<` is 0 and `>` is 1.
        let descriptor = descriptor.or_else(|| {
            let is_input = self.text.get(before) == Some(&'<');
            Some(u32::from(!is_input))
        });
        Ok(Some(Redirect { descriptor, kind }))
    }

    fn target(&mut self) -> Result<Word, ParseError> {
        self.skip_blanks();
        self.word()?.ok_or_else(|| self.unexpected())
    }

    fn here_document(&mut self) -> Result<RedirectKind, ParseError> {
        let strip_tabs = self.accept("-");
        self.skip_blanks();
        let before = self.at;
        let word = self.word()?.ok_or_else(|| self.unexpected())?;
        let raw = &self.text[before..self.at];
        let quoted = raw.iter().any(|c| matches!(c, '\'' | '"' | '\\'));
        let text = Arc::new(OnceLock::new());
        self.here_documents
            .push((text.clone(), text_of(&word), quoted, strip_tabs));
        Ok(RedirectKind::HereDocument(text))
    }

    fn finish_here_documents(&mut self) -> Result<(), ParseError> {
        for (slot, delimiter, quoted, strip_tabs) in std::mem::take(&mut self.here_documents) {
            let mut text = String::new();
            loop {
                if self.peek().is_none() {
                    return Err(ParseError::Incomplete);
                }
                let mut line = String::new();
                let mut ended = false;
                while let Some(c) = self.next() {
                    if c == '\n' {
                        ended = true;
                        break;
                    }
                    line.push(c);
                }
                let line = match strip_tabs {
                    true => line.trim_start_matches('\t'),
                    false => &line,
                };
                if line == delimiter {
                    break;
                }
                if !ended {
                    return Err(ParseError::Incomplete);
                }
                text.push_str(line);
                text.push('\n');
            }
            let word = match quoted {
                true => vec![super::ast::Part::Quoted(text)],
                false => parse_here_document(&text, self.dialect, self.depth)?,
            };
            let _ = slot.set(word);
        }
        Ok(())
    }

    fn if_clause(&mut self) -> Result<Compound, ParseError> {
        self.at += "if".len();
        let mut branches = Vec::new();
        loop {
            let condition = self.commands()?;
            self.expect_keyword("then")?;
            branches.push((condition, self.commands()?));
            self.skip_newlines()?;
            if self.accept_keyword("elif") {
                continue;
            }
            let otherwise = match self.accept_keyword("else") {
                true => Some(self.commands()?),
                false => None,
            };
            self.expect_keyword("fi")?;
            return Ok(Compound::If {
                branches,
                otherwise,
            });
        }
    }

    fn while_loop(&mut self, word: &str) -> Result<Compound, ParseError> {
        self.at += word.len();
        let condition = self.commands()?;
        let body = self.loop_body()?;
        Ok(Compound::While {
            condition,
            until: word == "until",
            body,
        })
    }

    fn loop_body(&mut self) -> Result<List, ParseError> {
        self.expect_keyword("do")?;
        let body = self.commands()?;
        self.expect_keyword("done")?;
        Ok(body)
    }

    fn for_loop(&mut self) -> Result<Compound, ParseError> {
        self.at += "for".len();
        self.skip_blanks();
        if self.accept("((") {
            return self.arithmetic_for();
        }
        let name = self.name();
        if name.is_empty() {
            return Err(self.unexpected());
        }
        self.skip_newlines()?;
        let words = match self.accept_keyword("in") {
            true => {
                let mut words = Vec::new();
                self.skip_blanks();
                while let Some(word) = self.word()? {
                    words.push(word);
                    self.skip_blanks();
                }
                Some(words)
            }
            false => None,
        };
        self.skip_blanks();
        self.accept(";");
        let body = self.loop_body()?;
        Ok(Compound::For { name, words, body })
    }

    /// Whether a second parenthesis starts an arithmetic command, which ends with two of them, and no
    /// subshell in a subshell.
    fn starts_arithmetic(&self) -> bool {
        if self.peek() != Some('(') {
            return false;
        }
        let mut open = 0_usize;
        let mut rest = self.text[self.at + 1..].iter();
        while let Some(c) = rest.next() {
            match c {
                '(' => open += 1,
                ')' if open == 0 => return rest.next() == Some(&')'),
                ')' => open -= 1,
                _ => {}
            }
        }
        true
    }

    fn arithmetic_for(&mut self) -> Result<Compound, ParseError> {
        let mut expressions: [Word; 3] = Default::default();
        for (index, slot) in expressions.iter_mut().enumerate() {
            let end = if index == 2 { "))" } else { ";" };
            *slot = self.arithmetic_until(end)?;
        }
        self.skip_blanks();
        self.accept(";");
        let body = self.loop_body()?;
        Ok(Compound::ArithmeticFor { expressions, body })
    }

    fn case(&mut self) -> Result<Compound, ParseError> {
        self.at += "case".len();
        self.skip_blanks();
        let word = self.word()?.ok_or_else(|| self.unexpected())?;
        self.expect_keyword("in")?;
        let mut arms = Vec::new();
        loop {
            self.skip_newlines()?;
            if self.accept_keyword("esac") {
                return Ok(Compound::Case { word, arms });
            }
            self.accept("(");
            let mut patterns = Vec::new();
            loop {
                self.skip_blanks();
                patterns.push(self.word()?.ok_or_else(|| self.unexpected())?);
                self.skip_blanks();
                if !self.accept("|") {
                    break;
                }
            }
            self.expect(')')?;
            let body = self.list()?;
            arms.push(CaseArm { patterns, body });
            self.skip_newlines()?;
            if !self.accept(";;") && self.keyword() != "esac" {
                return Err(self.unexpected());
            }
        }
    }

    fn condition(&mut self) -> Result<Compound, ParseError> {
        self.at += "[[".len();
        let mut words = Vec::new();
        loop {
            self.skip_newlines()?;
            if self.accept_keyword("]]") {
                return Ok(Compound::Condition(words));
            }
            let operator = ["&&", "||", "(", ")", "<", ">"]
                .into_iter()
                .find(|operator| self.accept(operator));
            match operator {
                Some(operator) => words.push(vec![super::ast::Part::Literal(operator.into())]),
                None => words.push(self.condition_word()?.ok_or_else(|| self.unexpected())?),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn incomplete_scripts_need_more_lines() {
        for script in [
            "if true",
            "while true; do",
            "echo 'a",
            "echo \"a",
            "echo $(ls",
            "cat <<E\nx",
            "{ echo",
            "a &&",
            "a |",
            "case x in",
            "f() {",
            "echo ${a",
        ] {
            let error = parse(script, Dialect::Posix).err();
            assert_eq!(error, Some(ParseError::Incomplete), "{script}");
        }
        for (script, token) in [
            ("done", "done"),
            ("echo a; fi", "fi"),
            (";", ";"),
            ("a ;; b", ";;"),
            ("| a", "|"),
            ("echo )", ")"),
            ("if true; then fi", "fi"),
        ] {
            let error = parse(script, Dialect::Posix).err();
            assert_eq!(
                error,
                Some(ParseError::Unexpected(token.into(), 1)),
                "{script}"
            );
        }
    }

    #[test]
    fn nesting_is_limited() {
        for open in ["(", "$(", "{ ", "if ", "\"$(", "${a:-", "$((", "while "] {
            let script = open.repeat(100_000);
            assert!(parse(&script, Dialect::Bash).is_err(), "{open}");
        }
    }

    proptest! {
        #[test]
        fn no_script_panics(script in "[a-f$(){}\\[\\]|&;<>'\"`\\\\ \n=#*!0-9:/%~+-]{0,60}") {
            let _ = parse(&script, Dialect::Posix);
            let _ = parse(&script, Dialect::Bash);
        }
    }
}
