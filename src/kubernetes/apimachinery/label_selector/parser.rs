//! Parser of label selectors.

use super::lexer::{Token, tokens};
use super::{Operator, Requirement};
use kueue_lab_component_helpers::requirement::aggregate;
use kueue_lab_field::{FieldError, name_validation};

/// Parses `text`; the error is the message returned to the client.
pub(crate) fn parse(text: &str) -> Result<Vec<Requirement>, String> {
    let mut parser = Parser {
        tokens: tokens(text),
        at: 0,
    };
    let mut requirements = parser.selector()?;
    requirements.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(requirements)
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        self.tokens.get(self.at).unwrap_or(&Token::End)
    }

    fn take(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    /// The next token at the position of a key or value, where `in` and `notin` are words.
    fn peek_word(&self) -> Token {
        match self.peek() {
            t @ (Token::In | Token::NotIn) => Token::Word(t.text().into()),
            t => t.clone(),
        }
    }

    fn take_word(&mut self) -> Token {
        let token = self.peek_word();
        self.at += 1;
        token
    }

    fn selector(&mut self) -> Result<Vec<Requirement>, String> {
        let mut all = Vec::new();
        loop {
            match self.peek_word() {
                Token::Word(_) | Token::Not => {
                    all.push(
                        self.requirement()
                            .map_err(|e| format!("unable to parse requirement: {e}"))?,
                    );
                    match self.take_word() {
                        Token::End => return Ok(all),
                        Token::Comma => {
                            let next = self.peek_word();
                            if !matches!(next, Token::Word(_) | Token::Not) {
                                return Err(format!(
                                    "found '{}', expected: identifier after ','",
                                    next.text()
                                ));
                            }
                        }
                        other => {
                            return Err(format!(
                                "found '{}', expected: ',' or 'end of string'",
                                other.text()
                            ));
                        }
                    }
                }
                Token::End => return Ok(all),
                other => {
                    return Err(format!(
                        "found '{}', expected: !, identifier, or 'end of string'",
                        other.text()
                    ));
                }
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let mut token = self.take_word();
        let negated = token == Token::Not;
        if negated {
            token = self.take_word();
        }
        let Token::Word(key) = token else {
            return Err(format!("found '{}', expected: identifier", token.text()));
        };
        let wrong = name_validation::qualified_name(&key);
        if !wrong.is_empty() {
            return Err(FieldError::invalid("", key, wrong.join("; ")).to_string());
        }
        if negated {
            return Ok(Requirement {
                key,
                operator: Operator::DoesNotExist,
                values: Vec::new(),
            });
        }
        if matches!(self.peek_word(), Token::End | Token::Comma) {
            return Ok(Requirement {
                key,
                operator: Operator::Exists,
                values: Vec::new(),
            });
        }
        let (operator, values) = match self.take() {
            Token::In => (Operator::In, self.values()?),
            Token::NotIn => (Operator::NotIn, self.values()?),
            Token::Equal | Token::DoubleEqual => (Operator::In, vec![self.value()?]),
            Token::NotEqual => (Operator::NotIn, vec![self.value()?]),
            Token::Greater => (Operator::GreaterThan, vec![self.value()?]),
            Token::Less => (Operator::LessThan, vec![self.value()?]),
            other => {
                return Err(format!(
                    "found '{}', expected: in, notin, =, ==, !=, gt, lt",
                    other.text()
                ));
            }
        };
        let requirement = Requirement {
            key,
            operator,
            values,
        };
        aggregate(requirement.validate("")).map_or(Ok(requirement), Err)
    }

    /// Parses one value, which may be empty.
    fn value(&mut self) -> Result<String, String> {
        if matches!(self.peek_word(), Token::End | Token::Comma) {
            return Ok(String::new());
        }
        match self.take_word() {
            Token::Word(value) => Ok(value),
            other => Err(format!("found '{}', expected: identifier", other.text())),
        }
    }

    /// Parses a list in parentheses; an omitted item is the empty value.
    fn values(&mut self) -> Result<Vec<String>, String> {
        let open = self.take_word();
        if open != Token::Open {
            return Err(format!("found '{}' expected: '('", open.text()));
        }
        let mut values = Vec::new();
        let mut current = String::new();
        let mut filled = false;
        loop {
            match self.take_word() {
                Token::Word(word) if !filled => (current, filled) = (word, true),
                Token::Word(word) => return Err(format!("found '{word}', expected: ',' or ')'")),
                token @ (Token::Comma | Token::Close) => {
                    values.push(std::mem::take(&mut current));
                    filled = false;
                    if token == Token::Close {
                        values.sort();
                        values.dedup();
                        return Ok(values);
                    }
                }
                other if filled => {
                    return Err(format!("found '{}', expected: ',' or ')'", other.text()));
                }
                other => {
                    return Err(format!(
                        "found '{}', expected: ',', or identifier",
                        other.text()
                    ));
                }
            }
        }
    }
}
