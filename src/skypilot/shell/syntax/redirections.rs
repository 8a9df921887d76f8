//! Parses redirections and here-documents.

use std::sync::{Arc, OnceLock};

use super::ast::{Part, Redirect, RedirectKind, Word};
use super::parser::{ParseError, Parser};
use super::word::{parse_here_document, text_of};

impl Parser {
    pub(super) fn redirects(&mut self) -> Result<Vec<Redirect>, ParseError> {
        let mut all = Vec::new();
        loop {
            self.skip_blanks();
            match self.redirect()? {
                Some(redirect) => all.push(redirect),
                None => return Ok(all),
            }
        }
    }

    pub(super) fn redirect(&mut self) -> Result<Option<Redirect>, ParseError> {
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

    pub(super) fn finish_here_documents(&mut self) -> Result<(), ParseError> {
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
                true => vec![Part::Quoted(text)],
                false => parse_here_document(&text, self.dialect, self.depth)?,
            };
            let _ = slot.set(word);
        }
        Ok(())
    }
}
