//! Arithmetic expressions: `$((...))`, `((...))` and the expressions of `for ((...))`.

/// Maximum nesting depth.
const DEPTH: usize = 100;
/// Binary operators by precedence, loosest first.
const OPERATORS: [&[&str]; 6] = [
    &["||"],
    &["&&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["+", "-"],
    &["*", "/", "%"],
];

/// The variables of an expression.
pub trait Variables {
    /// The value of a variable; empty if it is not set.
    fn value(&self, name: &str) -> String;

    /// Sets a variable.
    fn assign(&mut self, name: String, value: String);
}

/// The value of an expression with integers, variables, assignments and parentheses. Text that is not
/// one is 0.
pub fn arithmetic(variables: &mut dyn Variables, expression: &str) -> i64 {
    let letters: Vec<char> = expression.chars().filter(|c| !c.is_whitespace()).collect();
    let mut parser = ArithmeticParser {
        variables,
        letters: &letters,
        at: 0,
        depth: 0,
    };
    let mut value = parser.assignment();
    while parser.accept(",") {
        value = parser.assignment();
    }
    value
}

struct ArithmeticParser<'a> {
    variables: &'a mut dyn Variables,
    letters: &'a [char],
    at: usize,
    depth: usize,
}

impl ArithmeticParser<'_> {
    fn peek(&self) -> Option<char> {
        self.letters.get(self.at).copied()
    }

    fn starts_with(&self, text: &str) -> bool {
        let mut rest = self.letters[self.at.min(self.letters.len())..].iter();
        text.chars().all(|c| rest.next() == Some(&c))
    }

    fn accept(&mut self, text: &str) -> bool {
        let found = self.starts_with(text);
        self.at += if found { text.len() } else { 0 };
        found
    }

    /// A variable name, with or without `$`; empty if there is none.
    fn name(&mut self) -> String {
        let begin = self.at;
        self.at += usize::from(self.peek() == Some('$'));
        let first = self.at;
        while self.peek().is_some_and(|c| c.is_alphanumeric() || c == '_') {
            self.at += 1;
        }
        let name: String = self.letters[first..self.at].iter().collect();
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            self.at = begin;
            return String::new();
        }
        name
    }

    fn assign(&mut self, name: String, value: i64) -> i64 {
        self.variables.assign(name, value.to_string());
        value
    }

    fn variable(&self, name: &str) -> i64 {
        self.variables.value(name).trim().parse().unwrap_or(0)
    }

    fn assignment(&mut self) -> i64 {
        self.depth += 1;
        let value = match self.depth > DEPTH {
            true => {
                self.at = self.letters.len();
                0
            }
            false => self.shallow_assignment(),
        };
        self.depth -= 1;
        value
    }

    fn shallow_assignment(&mut self) -> i64 {
        let begin = self.at;
        let name = self.name();
        if !name.is_empty() {
            let old = self.variable(&name);
            if self.accept("++") {
                self.assign(name, old.wrapping_add(1));
                return old;
            }
            if self.accept("--") {
                self.assign(name, old.wrapping_sub(1));
                return old;
            }
            for operator in ["+", "-", "*", "/", "%"] {
                if self.accept(&format!("{operator}=")) {
                    let value = self.assignment();
                    return self.assign(name, apply(operator, old, value));
                }
            }
            if self.starts_with("=") && !self.starts_with("==") {
                self.at += 1;
                let value = self.assignment();
                return self.assign(name, value);
            }
            self.at = begin;
        }
        self.binary(0)
    }

    fn binary(&mut self, level: usize) -> i64 {
        let Some(operators) = OPERATORS.get(level) else {
            return self.unary();
        };
        let mut value = self.binary(level + 1);
        while let Some(operator) = operators.iter().find(|o| self.starts_with(o)) {
            self.at += operator.len();
            let other = self.binary(level + 1);
            value = apply(operator, value, other);
        }
        value
    }

    fn unary(&mut self) -> i64 {
        self.depth += 1;
        let value = if self.depth > DEPTH {
            self.at = self.letters.len();
            0
        } else if self.accept("(") {
            let value = self.assignment();
            self.accept(")");
            value
        } else if self.accept("++") || self.accept("--") {
            let step = if self.letters[self.at - 1] == '+' {
                1
            } else {
                -1
            };
            let name = self.name();
            let value = self.variable(&name).wrapping_add(step);
            self.assign(name, value)
        } else if self.accept("-") {
            self.unary().saturating_neg()
        } else if self.starts_with("!") && !self.starts_with("!=") {
            self.at += 1;
            i64::from(self.unary() == 0)
        } else {
            self.operand()
        };
        self.depth -= 1;
        value
    }

    fn operand(&mut self) -> i64 {
        let name = self.name();
        if !name.is_empty() {
            return self.variable(&name);
        }
        // `$1` and other parameters without a name.
        self.at += usize::from(self.peek() == Some('$'));
        let begin = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
        }
        let digits: String = self.letters[begin..self.at].iter().collect();
        digits.parse().unwrap_or(0)
    }
}

fn apply(operator: &str, a: i64, b: i64) -> i64 {
    match operator {
        "||" => i64::from(a != 0 || b != 0),
        "&&" => i64::from(a != 0 && b != 0),
        "==" => i64::from(a == b),
        "!=" => i64::from(a != b),
        "<=" => i64::from(a <= b),
        ">=" => i64::from(a >= b),
        "<" => i64::from(a < b),
        ">" => i64::from(a > b),
        "+" => a.saturating_add(b),
        "-" => a.saturating_sub(b),
        "*" => a.saturating_mul(b),
        "/" => a.checked_div(b).unwrap_or(0),
        _ => a.checked_rem(b).unwrap_or(0),
    }
}
