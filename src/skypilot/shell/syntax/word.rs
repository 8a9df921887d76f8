//! Parses words: quotes, parameters and substitutions.

use std::sync::Arc;

use super::ast::{Index, Operation, Part, Word};
use super::parser::{Dialect, ParseError, Parser, parse};

/// Parses the text of a here-document without quotes at its delimiter.
pub(super) fn parse_here_document(
    text: &str,
    dialect: Dialect,
    depth: usize,
) -> Result<Word, ParseError> {
    let mut parser = Parser::new(text.chars().collect(), dialect, depth);
    let mut word = Word::new();
    parser.double_quoted(&mut word, None)?;
    Ok(word)
}

/// The literal text of a word.
pub(super) fn text_of(word: &Word) -> String {
    let text = word.iter().map(|part| match part {
        Part::Literal(text) | Part::Quoted(text) => text.as_str(),
        _ => "",
    });
    text.collect()
}

fn push(word: &mut Word, c: char, quoted: bool) {
    match (word.last_mut(), quoted) {
        (Some(Part::Quoted(text)), true) | (Some(Part::Literal(text)), false) => text.push(c),
        (_, true) => word.push(Part::Quoted(c.into())),
        (_, false) => word.push(Part::Literal(c.into())),
    }
}

impl Parser {
    /// The word at this position, if there is one.
    pub(super) fn word(&mut self) -> Result<Option<Word>, ParseError> {
        let ends = |c: char| c.is_whitespace() || ";&|()<>".contains(c);
        self.word_until(&ends)
    }

    /// A word of `[[ ]]`, in which a regular expression may have parentheses.
    pub(super) fn condition_word(&mut self) -> Result<Option<Word>, ParseError> {
        let ends = |c: char| c.is_whitespace() || c == ';';
        self.word_until(&ends)
    }

    fn word_until(&mut self, ends: &dyn Fn(char) -> bool) -> Result<Option<Word>, ParseError> {
        let mut word = Word::new();
        let begin = self.at;
        while let Some(c) = self.peek() {
            if ends(c) {
                break;
            }
            self.at += 1;
            self.word_part(c, &mut word)?;
        }
        Ok((self.at > begin).then_some(word))
    }

    fn word_part(&mut self, c: char, word: &mut Word) -> Result<(), ParseError> {
        match c {
            '\'' => {
                let mut text = String::new();
                loop {
                    match self.next().ok_or(ParseError::Incomplete)? {
                        '\'' => break,
                        c => text.push(c),
                    }
                }
                word.push(Part::Quoted(text));
            }
            '"' => {
                word.push(Part::Quoted(String::new()));
                self.double_quoted(word, Some('"'))?;
            }
            '\\' => match self.next() {
                Some('\n') => {}
                Some(c) => push(word, c, true),
                None => push(word, '\\', true),
            },
            '$' if self.dialect == Dialect::Bash && self.peek() == Some('\'') => {
                self.at += 1;
                word.push(Part::Quoted(self.ansi_quoted()?));
            }
            '$' => self.dollar(word, false)?,
            '`' => self.backquoted(word, false)?,
            c => push(word, c, false),
        }
        Ok(())
    }

    /// Text in which only `$`, backquotes and backslashes are special, up to `end` or the end of
    /// the input.
    pub(super) fn double_quoted(
        &mut self,
        word: &mut Word,
        end: Option<char>,
    ) -> Result<(), ParseError> {
        loop {
            let Some(c) = self.next() else {
                return match end {
                    Some(_) => Err(ParseError::Incomplete),
                    None => Ok(()),
                };
            };
            match c {
                c if Some(c) == end => return Ok(()),
                '\\' => match self.next() {
                    Some('\n') => {}
                    Some(c @ ('\\' | '$' | '`')) => push(word, c, true),
                    Some('"') if end == Some('"') => push(word, '"', true),
                    Some(c) => {
                        push(word, '\\', true);
                        push(word, c, true);
                    }
                    None => push(word, '\\', true),
                },
                '$' => self.dollar(word, true)?,
                '`' => self.backquoted(word, true)?,
                c => push(word, c, true),
            }
        }
    }

    /// The text of `$'...'`.
    fn ansi_quoted(&mut self) -> Result<String, ParseError> {
        let mut text = String::new();
        loop {
            match self.next().ok_or(ParseError::Incomplete)? {
                '\'' => return Ok(text),
                '\\' => match self.next().ok_or(ParseError::Incomplete)? {
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    'r' => text.push('\r'),
                    'e' => text.push('\x1b'),
                    c => text.push(c),
                },
                c => text.push(c),
            }
        }
    }

    fn backquoted(&mut self, word: &mut Word, quoted: bool) -> Result<(), ParseError> {
        let mut script = String::new();
        loop {
            match self.next().ok_or(ParseError::Incomplete)? {
                '`' => break,
                '\\' => match self.next().ok_or(ParseError::Incomplete)? {
                    c @ ('`' | '$' | '\\') => script.push(c),
                    c => script.extend(['\\', c]),
                },
                c => script.push(c),
            }
        }
        // Nested backquotes have one more backslash at each level, so that the depth is limited.
        self.enter()?;
        let list = parse(&script, self.dialect)?;
        self.depth -= 1;
        word.push(Part::Command(Arc::new(list), quoted));
        Ok(())
    }

    /// An expansion after its `$`.
    fn dollar(&mut self, word: &mut Word, quoted: bool) -> Result<(), ParseError> {
        self.enter()?;
        if self.accept("((") {
            let before = self.at;
            match self.arithmetic_text() {
                Ok(expression) => word.push(Part::Arithmetic(expression)),
                Err(ParseError::TooComplex) => return Err(ParseError::TooComplex),
                Err(error) => {
                    // `$((` may also start a subshell in a command substitution.
                    self.at = before.saturating_sub(1);
                    self.substitution(word, quoted).map_err(|_| error)?;
                }
            }
        } else if self.accept("(") {
            self.substitution(word, quoted)?;
        } else if self.accept("{") {
            self.braced_parameter(word, quoted)?;
        } else {
            let name = match self.peek() {
                Some(c) if c.is_ascii_digit() || "?#@*$!-".contains(c) => {
                    self.at += 1;
                    c.to_string()
                }
                _ => self.name(),
            };
            match name.is_empty() {
                true => push(word, '$', quoted),
                false => word.push(Part::Parameter {
                    name,
                    index: None,
                    operation: None,
                    quoted,
                }),
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn substitution(&mut self, word: &mut Word, quoted: bool) -> Result<(), ParseError> {
        let list = self.nested_list()?;
        word.push(Part::Command(Arc::new(list), quoted));
        match self.next() {
            Some(')') => Ok(()),
            Some(_) => {
                self.at -= 1;
                Err(self.unexpected())
            }
            None => Err(ParseError::Incomplete),
        }
    }

    /// `${...}` after its brace.
    fn braced_parameter(&mut self, word: &mut Word, quoted: bool) -> Result<(), ParseError> {
        let is_length = self.peek() == Some('#') && !matches!(self.peek_at(1), Some('}') | None);
        self.at += usize::from(is_length);
        let mut name = self.name();
        if name.is_empty() {
            while let Some(c) = self.peek().filter(char::is_ascii_digit) {
                name.push(c);
                self.at += 1;
            }
        }
        if name.is_empty()
            && let Some(c) = self.peek().filter(|c| "?#@*$!-".contains(*c))
        {
            name.push(c);
            self.at += 1;
        }
        let index = self.index()?;
        let operation = match is_length {
            true => Some(Operation::Length),
            false => self.operation(quoted)?,
        };
        match self.next() {
            Some('}') if !name.is_empty() => {
                word.push(Part::Parameter {
                    name,
                    index: index.map(Box::new),
                    operation: operation.map(Box::new),
                    quoted,
                });
                Ok(())
            }
            None => Err(ParseError::Incomplete),
            Some(_) => {
                self.at -= 1;
                Err(ParseError::Unexpected("Bad substitution".into(), 1))
            }
        }
    }

    /// `[...]` after the name of an array.
    fn index(&mut self) -> Result<Option<Index>, ParseError> {
        Ok(if self.accept("[@]") {
            Some(Index::All)
        } else if self.accept("[*]") {
            Some(Index::Joined)
        } else if self.dialect == Dialect::Bash && self.accept("[") {
            Some(Index::At(self.arithmetic_until("]")?))
        } else {
            None
        })
    }

    fn operation(&mut self, quoted: bool) -> Result<Option<Operation>, ParseError> {
        let colon = self.peek() == Some(':') && self.peek_at(1).is_some_and(|c| "-=?+".contains(c));
        self.at += usize::from(colon);
        Ok(Some(if self.accept("-") {
            let word = self.operand(&['}'], quoted)?;
            Operation::Default { colon, word }
        } else if self.accept("=") {
            let word = self.operand(&['}'], quoted)?;
            Operation::Assign { colon, word }
        } else if self.accept("?") {
            let word = self.operand(&['}'], quoted)?;
            Operation::Error { colon, word }
        } else if self.accept("+") {
            let word = self.operand(&['}'], quoted)?;
            Operation::Alternative { colon, word }
        } else if self.accept("#") {
            let longest = self.accept("#");
            let pattern = self.operand(&['}'], false)?;
            Operation::RemovePrefix { longest, pattern }
        } else if self.accept("%") {
            let longest = self.accept("%");
            let pattern = self.operand(&['}'], false)?;
            Operation::RemoveSuffix { longest, pattern }
        } else if self.accept("/") {
            let all = self.accept("/");
            let pattern = self.operand(&['/', '}'], false)?;
            let with = match self.accept("/") {
                true => self.operand(&['}'], false)?,
                false => Word::new(),
            };
            Operation::Replace { all, pattern, with }
        } else if self.accept(":") {
            let offset = self.operand(&[':', '}'], false)?;
            let length = match self.accept(":") {
                true => Some(self.operand(&['}'], false)?),
                false => None,
            };
            Operation::Substring { offset, length }
        } else {
            return Ok(None);
        }))
    }

    /// The operand of an operation, up to one of `ends`.
    fn operand(&mut self, ends: &[char], quoted: bool) -> Result<Word, ParseError> {
        let mut word = Word::new();
        loop {
            let c = self.peek().ok_or(ParseError::Incomplete)?;
            if ends.contains(&c) {
                return Ok(word);
            }
            self.at += 1;
            match c {
                '\'' if quoted => push(&mut word, '\'', true),
                ' ' | '\t' | '\n' if quoted => push(&mut word, c, true),
                c => self.word_part(c, &mut word)?,
            }
        }
    }

    /// An arithmetic expression up to its two closing parentheses.
    pub(super) fn arithmetic_text(&mut self) -> Result<Word, ParseError> {
        self.arithmetic_until("))")
    }

    pub(super) fn arithmetic_until(&mut self, end: &str) -> Result<Word, ParseError> {
        let mut word = Word::new();
        let mut open = 0_usize;
        loop {
            if open == 0 && self.accept(end) {
                return Ok(word);
            }
            let c = self.next().ok_or(ParseError::Incomplete)?;
            match c {
                '(' => open += 1,
                ')' if open == 0 => {
                    self.at -= 1;
                    return Err(self.unexpected());
                }
                ')' => open -= 1,
                '$' => {
                    self.dollar(&mut word, true)?;
                    continue;
                }
                '`' => {
                    self.backquoted(&mut word, true)?;
                    continue;
                }
                '"' => continue,
                _ => {}
            }
            push(&mut word, c, true);
        }
    }
}
