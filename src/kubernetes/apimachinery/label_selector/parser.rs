//! Parser of label selectors.

use super::lexer::{Token, tokens};
use super::{Operator, Requirement};
use kueue_lab_component_helpers::requirement::aggregate;
use kueue_lab_field::{FieldError, name_validation};

/// Why a text is not a label selector, with the message that is returned to the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ParseSelectorError {
    /// Another token than the expected one.
    #[error("found '{found}', expected: {expected}")]
    Unexpected {
        /// The token.
        found: String,
        /// What is expected.
        expected: &'static str,
    },
    /// Values without parentheses; the token.
    #[error("found '{0}' expected: '('")]
    NoParenthesis(String),
    /// The key is not valid.
    #[error("{0}")]
    Key(FieldError),
    /// The values are not valid; the messages.
    #[error("{0}")]
    Values(String),
    /// A requirement cannot be parsed.
    #[error("unable to parse requirement: {0}")]
    Requirement(#[source] Box<ParseSelectorError>),
}

/// Parses `text`.
///
/// # Errors
/// It is not a label selector.
pub(crate) fn parse(text: &str) -> Result<Vec<Requirement>, ParseSelectorError> {
    let mut parser = Parser {
        tokens: tokens(text),
        at: 0,
    };
    let mut requirements = parser.selector()?;
    requirements.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(requirements)
}

fn unexpected(found: &Token, expected: &'static str) -> ParseSelectorError {
    ParseSelectorError::Unexpected {
        found: found.text().to_string(),
        expected,
    }
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

    fn selector(&mut self) -> Result<Vec<Requirement>, ParseSelectorError> {
        let mut all = Vec::new();
        loop {
            match self.peek_word() {
                Token::Word(_) | Token::Not => {
                    all.push(
                        self.requirement()
                            .map_err(|error| ParseSelectorError::Requirement(Box::new(error)))?,
                    );
                    match self.take_word() {
                        Token::End => return Ok(all),
                        Token::Comma => {
                            let next = self.peek_word();
                            if !matches!(next, Token::Word(_) | Token::Not) {
                                return Err(unexpected(&next, "identifier after ','"));
                            }
                        }
                        other => {
                            return Err(unexpected(&other, "',' or 'end of string'"));
                        }
                    }
                }
                Token::End => return Ok(all),
                other => {
                    return Err(unexpected(&other, "!, identifier, or 'end of string'"));
                }
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, ParseSelectorError> {
        let mut token = self.take_word();
        let negated = token == Token::Not;
        if negated {
            token = self.take_word();
        }
        let Token::Word(key) = token else {
            return Err(unexpected(&token, "identifier"));
        };
        let wrong = name_validation::qualified_name(&key);
        if !wrong.is_empty() {
            let error = FieldError::invalid("", key, wrong.join("; "));
            return Err(ParseSelectorError::Key(error));
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
                return Err(unexpected(&other, "in, notin, =, ==, !=, gt, lt"));
            }
        };
        let requirement = Requirement {
            key,
            operator,
            values,
        };
        match aggregate(requirement.validate("")) {
            None => Ok(requirement),
            Some(messages) => Err(ParseSelectorError::Values(messages)),
        }
    }

    /// Parses one value, which may be empty.
    fn value(&mut self) -> Result<String, ParseSelectorError> {
        if matches!(self.peek_word(), Token::End | Token::Comma) {
            return Ok(String::new());
        }
        match self.take_word() {
            Token::Word(value) => Ok(value),
            other => Err(unexpected(&other, "identifier")),
        }
    }

    /// Parses a list in parentheses; an omitted item is the empty value.
    fn values(&mut self) -> Result<Vec<String>, ParseSelectorError> {
        let open = self.take_word();
        if open != Token::Open {
            return Err(ParseSelectorError::NoParenthesis(open.text().to_string()));
        }
        let mut values = Vec::new();
        let mut current = String::new();
        let mut filled = false;
        loop {
            match self.take_word() {
                Token::Word(word) if !filled => (current, filled) = (word, true),
                token @ Token::Word(_) => return Err(unexpected(&token, "',' or ')'")),
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
                    return Err(unexpected(&other, "',' or ')'"));
                }
                other => {
                    return Err(unexpected(&other, "',', or identifier"));
                }
            }
        }
    }
}
