//! Parses expressions.

use super::parser::Parser;
use super::program::Expr;
use super::syntax_error::SyntaxError;
use super::token::Token;

impl Parser {
    /// Expressions up to a closing symbol.
    pub(super) fn list(&mut self, end: &str) -> Result<Vec<Expr>, SyntaxError> {
        let mut list = Vec::new();
        self.skip_newlines();
        if self.accept(end) {
            return Ok(list);
        }
        loop {
            list.push(self.expr()?);
            self.skip_newlines();
            if self.accept(end) {
                return Ok(list);
            }
            self.expect(",")?;
            self.skip_newlines();
        }
    }

    pub(super) fn expr(&mut self) -> Result<Expr, SyntaxError> {
        self.nested(Self::assignment)
    }

    fn assignment(&mut self) -> Result<Expr, SyntaxError> {
        let target = self.choice()?;
        let is_target = matches!(target, Expr::Name(_) | Expr::Field(_) | Expr::Element(..));
        let operators = [
            ("=", "="),
            ("+=", "+"),
            ("-=", "-"),
            ("*=", "*"),
            ("/=", "/"),
            ("%=", "%"),
            ("^=", "^"),
            ("**=", "^"),
        ];
        let found = operators.into_iter().find(|(symbol, _)| self.is(symbol));
        let Some((_, operator)) = found.filter(|_| is_target) else {
            return Ok(target);
        };
        self.at += 1;
        self.skip_newlines();
        let value = self.nested(Self::assignment)?;
        Ok(Expr::Assign(operator, Box::new(target), Box::new(value)))
    }

    fn choice(&mut self) -> Result<Expr, SyntaxError> {
        let condition = self.or()?;
        if !self.accept("?") {
            return Ok(condition);
        }
        self.skip_newlines();
        let then = self.expr()?;
        self.skip_newlines();
        self.expect(":")?;
        self.skip_newlines();
        let otherwise = self.expr()?;
        let parts = [condition, then, otherwise].map(Box::new);
        let [condition, then, otherwise] = parts;
        Ok(Expr::Choice(condition, then, otherwise))
    }

    /// A left-associative sequence of operators.
    fn left(
        &mut self,
        symbols: &[&'static str],
        operand: fn(&mut Self) -> Result<Expr, SyntaxError>,
    ) -> Result<Expr, SyntaxError> {
        let mut left = operand(self)?;
        while let Some(symbol) = symbols.iter().find(|symbol| self.is(symbol)) {
            self.at += 1;
            self.skip_newlines();
            let right = operand(self)?;
            left = Expr::Binary(symbol, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn or(&mut self) -> Result<Expr, SyntaxError> {
        self.left(&["||"], Self::and)
    }

    fn and(&mut self) -> Result<Expr, SyntaxError> {
        self.left(&["&&"], Self::membership)
    }

    fn membership(&mut self) -> Result<Expr, SyntaxError> {
        let mut left = self.matching()?;
        while self.is_name("in") {
            self.at += 1;
            let Some(Token::Name(array)) = self.peek().cloned() else {
                return Err(self.error("the name of an array is missing"));
            };
            self.at += 1;
            left = Expr::In(vec![left], array);
        }
        Ok(left)
    }

    fn matching(&mut self) -> Result<Expr, SyntaxError> {
        let mut left = self.comparison()?;
        while self.is("~") || self.is("!~") {
            let is_match = self.is("~");
            self.at += 1;
            let right = self.comparison()?;
            left = Expr::Match(Box::new(left), Box::new(right), is_match);
        }
        Ok(left)
    }

    fn comparison(&mut self) -> Result<Expr, SyntaxError> {
        match self.is_in_print {
            true => self.left(&["<=", "<", "==", "!=", ">="], Self::concatenation),
            false => self.left(&["<=", "<", "==", "!=", ">=", ">"], Self::concatenation),
        }
    }

    fn concatenation(&mut self) -> Result<Expr, SyntaxError> {
        let mut left = self.sum()?;
        while self.starts_operand() {
            let right = self.sum()?;
            left = Expr::Binary(" ", Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    /// Whether an operand follows, which is appended.
    fn starts_operand(&self) -> bool {
        match self.peek() {
            Some(Token::Number(_) | Token::Text(_) | Token::Function(_)) => true,
            Some(Token::Name(name)) => !matches!(name.as_str(), "in" | "else" | "while"),
            Some(Token::Symbol(symbol)) => matches!(*symbol, "$" | "(" | "++" | "--"),
            _ => false,
        }
    }

    fn sum(&mut self) -> Result<Expr, SyntaxError> {
        self.left(&["+", "-"], Self::product)
    }

    fn product(&mut self) -> Result<Expr, SyntaxError> {
        self.left(&["*", "/", "%"], Self::unary)
    }

    fn unary(&mut self) -> Result<Expr, SyntaxError> {
        for symbol in ["!", "-", "+"] {
            if self.accept(symbol) {
                let operand = self.nested(Self::unary)?;
                return Ok(Expr::Unary(symbol, Box::new(operand)));
            }
        }
        self.power()
    }

    fn power(&mut self) -> Result<Expr, SyntaxError> {
        let base = self.postfix()?;
        if self.accept("^") || self.accept("**") {
            let exponent = self.nested(Self::unary)?;
            return Ok(Expr::Binary("^", Box::new(base), Box::new(exponent)));
        }
        Ok(base)
    }

    fn postfix(&mut self) -> Result<Expr, SyntaxError> {
        for (symbol, step) in [("++", 1.0), ("--", -1.0)] {
            if self.accept(symbol) {
                let target = self.nested(Self::postfix)?;
                return Ok(Expr::Step(step, Box::new(target), false));
            }
        }
        let target = self.primary()?;
        let is_target = matches!(target, Expr::Name(_) | Expr::Field(_) | Expr::Element(..));
        for (symbol, step) in [("++", 1.0), ("--", -1.0)] {
            if is_target && self.accept(symbol) {
                return Ok(Expr::Step(step, Box::new(target), true));
            }
        }
        Ok(target)
    }

    fn primary(&mut self) -> Result<Expr, SyntaxError> {
        let Some(token) = self.peek().cloned() else {
            return Err(self.error("an expression is missing"));
        };
        self.at += 1;
        Ok(match token {
            Token::Number(number) => Expr::Number(number),
            Token::Text(text) => Expr::Text(text),
            Token::Regex(regex) => Expr::Regex(regex),
            Token::Symbol("$") => {
                let index = match self.is("++") || self.is("--") || self.is("-") {
                    true => self.nested(Self::unary)?,
                    false => self.nested(Self::primary)?,
                };
                Expr::Field(Box::new(index))
            }
            Token::Symbol("(") => {
                let before = std::mem::take(&mut self.is_in_print);
                let list = self.list(")");
                self.is_in_print = before;
                let mut list = list?;
                if self.is_name("in") {
                    self.at += 1;
                    let Some(Token::Name(array)) = self.peek().cloned() else {
                        return Err(self.error("the name of an array is missing"));
                    };
                    self.at += 1;
                    return Ok(Expr::In(list, array));
                }
                match (list.pop(), list.is_empty()) {
                    (Some(only), true) => only,
                    _ => return Err(self.error("one expression in parentheses is needed")),
                }
            }
            Token::Function(name) => {
                self.at += 1;
                let before = std::mem::take(&mut self.is_in_print);
                let arguments = self.list(")");
                self.is_in_print = before;
                Expr::Call(name, arguments?)
            }
            Token::Name(name) if name == "length" => Expr::Call(name, Vec::new()),
            Token::Name(name) if name == "getline" => {
                return Err(SyntaxError::NotSupported("getline is"));
            }
            Token::Name(name) => match self.accept("[") {
                true => Expr::Element(name, self.list("]")?),
                false => Expr::Name(name),
            },
            Token::Symbol(_) => {
                self.at -= 1;
                return Err(self.error("an expression is missing"));
            }
        })
    }
}
