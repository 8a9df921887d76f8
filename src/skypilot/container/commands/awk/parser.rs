//! Parses programs.

use super::program::{Expr, Pattern, Program, Rule, Statement};
use super::syntax_error::SyntaxError;
use super::token::{Token, tokens};

/// Maximum nesting of statements and expressions.
const MAX_DEPTH: usize = 100;

/// Parses a program.
///
/// # Errors
/// The syntax error, or the unsupported feature.
pub(super) fn parse(text: &str) -> Result<Program, SyntaxError> {
    let mut parser = Parser {
        tokens: tokens(text)?,
        at: 0,
        depth: 0,
        is_in_print: false,
    };
    parser.program()
}

pub(super) struct Parser {
    tokens: Vec<Token>,
    pub(super) at: usize,
    depth: usize,
    /// `>` redirects the output.
    pub(super) is_in_print: bool,
}

impl Parser {
    pub(super) fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    pub(super) fn is(&self, symbol: &str) -> bool {
        matches!(self.peek(), Some(Token::Symbol(known)) if *known == symbol)
    }

    pub(super) fn is_name(&self, name: &str) -> bool {
        matches!(self.peek(), Some(Token::Name(known)) if known == name)
    }

    pub(super) fn accept(&mut self, symbol: &str) -> bool {
        let found = self.is(symbol);
        self.at += usize::from(found);
        found
    }

    fn accept_name(&mut self, name: &str) -> bool {
        let found = self.is_name(name);
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect(&mut self, symbol: &str) -> Result<(), SyntaxError> {
        match self.accept(symbol) {
            true => Ok(()),
            false => Err(self.error(&format!("{symbol:?} is missing"))),
        }
    }

    /// The error that something is missing at the next token.
    pub(super) fn error(&self, why: &str) -> SyntaxError {
        let at = match self.peek() {
            None => "the end of the program".to_owned(),
            Some(Token::Symbol("\n")) => "the end of a line".to_owned(),
            Some(Token::Symbol(symbol)) => (*symbol).to_owned(),
            Some(Token::Name(name) | Token::Function(name)) => name.clone(),
            Some(Token::Number(number)) => number.to_string(),
            Some(Token::Text(text)) => format!("{text:?}"),
            Some(Token::Regex(text)) => format!("/{text}/"),
        };
        let why = why.to_owned();
        SyntaxError::Unexpected { at, why }
    }

    pub(super) fn skip_newlines(&mut self) {
        while self.accept("\n") {}
    }

    fn skip_terminators(&mut self) {
        while self.accept("\n") || self.accept(";") {}
    }

    /// Parses one level deeper.
    pub(super) fn nested<T>(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<T, SyntaxError>,
    ) -> Result<T, SyntaxError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(SyntaxError::TooDeep);
        }
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn program(&mut self) -> Result<Program, SyntaxError> {
        let mut program = Program::default();
        self.skip_terminators();
        while self.peek().is_some() {
            if self.is_name("function") || self.is_name("func") {
                return Err(SyntaxError::NotSupported("functions are"));
            }
            if self.accept_name("BEGIN") {
                program.begin.extend(self.block()?);
            } else if self.accept_name("END") {
                program.end.extend(self.block()?);
            } else {
                let pattern = match self.is("{") {
                    true => Pattern::All,
                    false => {
                        let first = self.expr()?;
                        match self.accept(",") {
                            true => {
                                self.skip_newlines();
                                Pattern::Range(first, self.expr()?)
                            }
                            false => Pattern::If(first),
                        }
                    }
                };
                let action = match self.is("{") {
                    true => Some(self.block()?),
                    false => None,
                };
                program.rules.push(Rule { pattern, action });
            }
            self.skip_terminators();
        }
        Ok(program)
    }

    /// Statements in braces.
    fn block(&mut self) -> Result<Vec<Statement>, SyntaxError> {
        self.expect("{")?;
        let mut statements = Vec::new();
        self.skip_terminators();
        while !self.accept("}") {
            if self.peek().is_none() {
                return Err(self.error("\"}\" is missing"));
            }
            statements.push(self.nested(Self::statement)?);
            self.skip_terminators();
        }
        Ok(statements)
    }

    /// The body of a loop or a choice.
    fn body(&mut self) -> Result<Vec<Statement>, SyntaxError> {
        self.skip_newlines();
        if self.is("{") {
            return self.nested(Self::block);
        }
        if self.accept(";") {
            return Ok(Vec::new());
        }
        Ok(vec![self.nested(Self::statement)?])
    }

    fn statement(&mut self) -> Result<Statement, SyntaxError> {
        let Some(Token::Name(name)) = self.peek().cloned() else {
            if self.is("{") {
                let block = self.block()?;
                return Ok(Statement::If(Expr::Number(1.0), block, Vec::new()));
            }
            return self.simple();
        };
        match name.as_str() {
            "if" => {
                let condition = self.condition()?;
                let then = self.body()?;
                let before = self.at;
                self.skip_terminators();
                let otherwise = match self.accept_name("else") {
                    true => self.body()?,
                    false => {
                        self.at = before;
                        Vec::new()
                    }
                };
                Ok(Statement::If(condition, then, otherwise))
            }
            "while" => {
                let condition = self.condition()?;
                Ok(Statement::While(condition, self.body()?))
            }
            "do" => {
                self.at += 1;
                let body = self.body()?;
                self.skip_terminators();
                if !self.is_name("while") {
                    return Err(self.error("\"while\" is missing"));
                }
                Ok(Statement::DoWhile(body, self.condition()?))
            }
            "for" => self.for_loop(),
            _ => self.simple(),
        }
    }

    /// The keyword and the condition in parentheses after it.
    fn condition(&mut self) -> Result<Expr, SyntaxError> {
        self.at += 1;
        self.expect("(")?;
        let condition = self.expr()?;
        self.expect(")")?;
        Ok(condition)
    }

    fn for_loop(&mut self) -> Result<Statement, SyntaxError> {
        self.at += 1;
        self.expect("(")?;
        if let [
            Token::Name(key),
            Token::Name(of),
            Token::Name(array),
            Token::Symbol(")"),
            ..,
        ] = &self.tokens[self.at..]
            && of == "in"
        {
            let (key, array) = (key.clone(), array.clone());
            self.at += 4;
            return Ok(Statement::ForIn(key, array, self.body()?));
        }
        let part = |parser: &mut Self, end: &str| -> Result<Option<Expr>, SyntaxError> {
            let expr = match parser.is(end) {
                true => None,
                false => Some(parser.expr()?),
            };
            parser.expect(end)?;
            Ok(expr)
        };
        let (first, condition) = (part(self, ";")?, part(self, ";")?);
        let step = part(self, ")")?;
        Ok(Statement::For(first, condition, step, self.body()?))
    }

    fn simple(&mut self) -> Result<Statement, SyntaxError> {
        let statement = match self.peek() {
            Some(Token::Name(name)) => match name.as_str() {
                "print" => self.print(false)?,
                "printf" => self.print(true)?,
                "next" => self.keyword(Statement::Next),
                "break" => self.keyword(Statement::Break),
                "continue" => self.keyword(Statement::Continue),
                "exit" => {
                    self.at += 1;
                    let ends = self.ends_statement();
                    Statement::Exit(if ends { None } else { Some(self.expr()?) })
                }
                "delete" => {
                    self.at += 1;
                    let Some(Token::Name(array)) = self.peek().cloned() else {
                        return Err(self.error("the name of an array is missing"));
                    };
                    self.at += 1;
                    let keys = match self.accept("[") {
                        true => self.list("]")?,
                        false => Vec::new(),
                    };
                    Statement::Delete(array, keys)
                }
                "getline" => return Err(SyntaxError::NotSupported("getline is")),
                _ => Statement::Expr(self.expr()?),
            },
            _ => Statement::Expr(self.expr()?),
        };
        if !self.ends_statement() {
            return Err(self.error("the statement has no end"));
        }
        Ok(statement)
    }

    fn keyword(&mut self, statement: Statement) -> Statement {
        self.at += 1;
        statement
    }

    fn ends_statement(&self) -> bool {
        self.peek().is_none() || self.is(";") || self.is("\n") || self.is("}")
    }

    fn print(&mut self, is_formatted: bool) -> Result<Statement, SyntaxError> {
        self.at += 1;
        self.is_in_print = true;
        let values = self.print_values();
        self.is_in_print = false;
        let values = values?;
        let mut to_stderr = false;
        if self.accept(">") || self.accept(">>") {
            match self.peek() {
                Some(Token::Text(path)) if path == "/dev/stderr" => to_stderr = true,
                Some(Token::Text(path)) if path == "/dev/stdout" => {}
                _ => return Err(SyntaxError::NotSupported("output to files is")),
            }
            self.at += 1;
        }
        if is_formatted && values.is_empty() {
            return Err(self.error("printf has no format"));
        }
        Ok(Statement::Print {
            values,
            is_formatted,
            to_stderr,
        })
    }

    fn print_values(&mut self) -> Result<Vec<Expr>, SyntaxError> {
        let mut values = Vec::new();
        if self.ends_statement() || self.is(">") {
            return Ok(values);
        }
        // `print (a, b)`
        let before = self.at;
        if self.accept("(") {
            self.is_in_print = false;
            let list = self.list(")");
            self.is_in_print = true;
            if let Ok(list) = list
                && (self.ends_statement() || self.is(">") || self.is(">>"))
            {
                return Ok(list);
            }
            self.at = before;
        }
        loop {
            values.push(self.expr()?);
            if !self.accept(",") {
                return Ok(values);
            }
            self.skip_newlines();
        }
    }
}
