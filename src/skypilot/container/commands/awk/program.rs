//! The syntax tree of a program.

/// A program.
#[derive(Debug, Default)]
pub(super) struct Program {
    /// The actions of `BEGIN`.
    pub(super) begin: Vec<Statement>,
    /// The rules of records.
    pub(super) rules: Vec<Rule>,
    /// The actions of `END`.
    pub(super) end: Vec<Statement>,
}

/// A pattern and its action.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) pattern: Pattern,
    /// `None` prints the record.
    pub(super) action: Option<Vec<Statement>>,
}

/// Which records a rule applies to.
#[derive(Debug)]
pub(super) enum Pattern {
    All,
    If(Expr),
    Range(Expr, Expr),
}

/// A statement.
#[derive(Debug)]
pub(super) enum Statement {
    Expr(Expr),
    Print {
        values: Vec<Expr>,
        is_formatted: bool,
        to_stderr: bool,
    },
    If(Expr, Vec<Statement>, Vec<Statement>),
    While(Expr, Vec<Statement>),
    DoWhile(Vec<Statement>, Expr),
    For(Option<Expr>, Option<Expr>, Option<Expr>, Vec<Statement>),
    ForIn(String, String, Vec<Statement>),
    Delete(String, Vec<Expr>),
    Next,
    Exit(Option<Expr>),
    Break,
    Continue,
}

/// An expression.
#[derive(Clone, Debug)]
pub(super) enum Expr {
    Number(f64),
    Text(String),
    /// A match of the record.
    Regex(String),
    Name(String),
    Field(Box<Expr>),
    Element(String, Vec<Expr>),
    In(Vec<Expr>, String),
    Unary(&'static str, Box<Expr>),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    Match(Box<Expr>, Box<Expr>, bool),
    Choice(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `TARGET OPERATOR= VALUE`; a plain assignment has the operator `=`.
    Assign(&'static str, Box<Expr>, Box<Expr>),
    /// `++` or `--`; whether the result is the value before.
    Step(f64, Box<Expr>, bool),
    Call(String, Vec<Expr>),
}
