//! Parses compound commands.

use super::ast::{CaseArm, Compound, List, Part, Word};
use super::parser::{ParseError, Parser};

impl Parser {
    pub(super) fn if_clause(&mut self) -> Result<Compound, ParseError> {
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

    pub(super) fn while_loop(&mut self, word: &str) -> Result<Compound, ParseError> {
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

    pub(super) fn for_loop(&mut self) -> Result<Compound, ParseError> {
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
    pub(super) fn starts_arithmetic(&self) -> bool {
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

    pub(super) fn case(&mut self) -> Result<Compound, ParseError> {
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

    pub(super) fn condition(&mut self) -> Result<Compound, ParseError> {
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
                Some(operator) => words.push(vec![Part::Literal(operator.into())]),
                None => words.push(self.condition_word()?.ok_or_else(|| self.unexpected())?),
            }
        }
    }
}
