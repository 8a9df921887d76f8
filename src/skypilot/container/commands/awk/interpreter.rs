//! Runs programs.

use std::collections::{BTreeMap, HashMap};

use regex::Regex;

use super::program::{Expr, Pattern, Program};
use super::value::Value;

/// Maximum number of evaluated statements and expressions.
const MAX_STEPS: usize = 5_000_000;
/// Maximum size of a string, a record with its fields, or the output, in bytes.
pub(super) const MAX_TEXT: usize = 16 << 20;
/// Maximum number of fields and of elements of all arrays.
const MAX_ELEMENTS: usize = 1_000_000;

/// The reason for the early end of statements.
pub(super) enum Flow {
    Next,
    Exit,
    Break,
    Continue,
    /// An error of the program.
    Error(String),
}

/// The outcome of a statement.
pub(super) type Run = Result<(), Flow>;

/// A program that runs.
pub(super) struct Interpreter<'p> {
    program: &'p Program,
    variables: HashMap<String, Value>,
    pub(super) arrays: HashMap<String, BTreeMap<String, Value>>,
    /// The record and its fields.
    pub(super) fields: Vec<String>,
    /// Which ranges have begun, by rule.
    open_ranges: Vec<bool>,
    regexes: HashMap<String, Regex>,
    steps: usize,
    elements: usize,
    pub(super) out: String,
    pub(super) errors: String,
    pub(super) exit_code: i32,
}

impl<'p> Interpreter<'p> {
    pub(super) fn new(program: &'p Program) -> Self {
        let variables = [
            ("FS", " "),
            ("OFS", " "),
            ("ORS", "\n"),
            ("RS", "\n"),
            ("SUBSEP", "\u{1c}"),
        ];
        let text = |(name, text): (&str, &str)| (name.to_owned(), Value::Text(text.into()));
        Self {
            program,
            variables: variables.into_iter().map(text).collect(),
            arrays: HashMap::new(),
            fields: vec![String::new()],
            open_ranges: vec![false; program.rules.len()],
            regexes: HashMap::new(),
            steps: 0,
            elements: 0,
            out: String::new(),
            errors: String::new(),
            exit_code: 0,
        }
    }

    /// Runs the actions of `BEGIN`.
    pub(super) fn begin(&mut self) -> Run {
        self.block(&self.program.begin)
    }

    /// Runs the actions of `END`.
    pub(super) fn end(&mut self) -> Run {
        self.block(&self.program.end)
    }

    /// Runs the rules for each record of a file.
    pub(super) fn file(&mut self, name: &str, data: &str) -> Run {
        self.set("FILENAME", Value::Text(name.into()));
        self.set("FNR", Value::Number(0.0));
        let separator = self.text_of("RS");
        let mut records: Vec<&str> = match separator.as_str() {
            "" => data.split("\n\n").map(|r| r.trim_matches('\n')).collect(),
            separator => data.split(separator).collect(),
        };
        match separator.as_str() {
            "" => records.retain(|record| !record.is_empty()),
            _ if records.last() == Some(&"") => {
                records.pop();
            }
            _ => {}
        }
        for record in records {
            for counter in ["NR", "FNR"] {
                let next = self.get(counter).number() + 1.0;
                self.set(counter, Value::Number(next));
            }
            self.set_record(record.to_owned())?;
            match self.rules() {
                Err(Flow::Next) => {}
                other => other?,
            }
        }
        Ok(())
    }

    fn rules(&mut self) -> Run {
        let program = self.program;
        for (at, rule) in program.rules.iter().enumerate() {
            let applies = match &rule.pattern {
                Pattern::All => true,
                Pattern::If(condition) => self.eval(condition)?.is_true(),
                Pattern::Range(first, last) => {
                    let applies = self.open_ranges[at] || self.eval(first)?.is_true();
                    self.open_ranges[at] = applies && !self.eval(last)?.is_true();
                    applies
                }
            };
            match (&rule.action, applies) {
                (_, false) => {}
                (Some(action), true) => self.block(action)?,
                (None, true) => self.print(&[], false, false)?,
            }
        }
        Ok(())
    }

    pub(super) fn get(&self, name: &str) -> Value {
        match name {
            "NF" => Value::Number((self.fields.len() - 1) as f64),
            name => self.variables.get(name).cloned().unwrap_or(Value::Unset),
        }
    }

    pub(super) fn text_of(&self, name: &str) -> String {
        self.get(name).text()
    }

    pub(super) fn set(&mut self, name: &str, value: Value) {
        self.variables.insert(name.into(), value);
    }

    fn set_record(&mut self, record: String) -> Run {
        let separator = self.text_of("FS");
        let mut fields = self.split(&record, &separator)?;
        fields.insert(0, record);
        self.fields = fields;
        Ok(())
    }

    /// Splits a text: at blanks, at a character, or at a regular expression.
    pub(super) fn split(&mut self, text: &str, separator: &str) -> Result<Vec<String>, Flow> {
        let owned = |part: &str| part.to_owned();
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let parts: Vec<String> = match separator {
            " " => text.split_whitespace().map(owned).collect(),
            "" => text.chars().map(String::from).collect(),
            "\t" | "|" => text.split(separator).map(owned).collect(),
            one if one.chars().count() == 1 && one != "\\" => text.split(one).map(owned).collect(),
            regex => self.regex(regex)?.split(text).map(owned).collect(),
        };
        match parts.len() > MAX_ELEMENTS {
            true => Err(Flow::Error("too many fields".into())),
            false => Ok(parts),
        }
    }

    pub(super) fn regex(&mut self, text: &str) -> Result<Regex, Flow> {
        if let Some(known) = self.regexes.get(text) {
            return Ok(known.clone());
        }
        let compiled = Regex::new(&text.replace("\\/", "/"));
        let compiled = compiled.map_err(|_| Flow::Error(format!("invalid regexp {text}")))?;
        self.regexes.insert(text.into(), compiled.clone());
        Ok(compiled)
    }

    /// The regular expression of an argument: a literal, or the text of a value.
    pub(super) fn pattern(&mut self, e: &Expr) -> Result<Regex, Flow> {
        let text = match e {
            Expr::Regex(text) => text.clone(),
            other => self.eval(other)?.text(),
        };
        self.regex(&text)
    }

    pub(super) fn step(&mut self) -> Run {
        self.steps += 1;
        match self.steps > MAX_STEPS {
            true => Err(Flow::Error("the program runs too long".into())),
            false => Ok(()),
        }
    }

    /// The key of an element.
    pub(super) fn key(&mut self, keys: &[Expr]) -> Result<String, Flow> {
        let mut texts = Vec::new();
        for key in keys {
            texts.push(self.eval(key)?.text());
        }
        Ok(texts.join(&self.text_of("SUBSEP")))
    }

    pub(super) fn eval(&mut self, e: &Expr) -> Result<Value, Flow> {
        self.step()?;
        let number = |is_true: bool| Value::Number(f64::from(is_true));
        Ok(match e {
            Expr::Number(number) => Value::Number(*number),
            Expr::Text(text) => Value::Text(text.clone()),
            Expr::Regex(text) => {
                let regex = self.regex(text)?;
                number(regex.is_match(&self.fields[0]))
            }
            Expr::Name(name) => self.get(name),
            Expr::Field(index) => {
                let index = self.field_index(index)?;
                let field = self.fields.get(index).cloned();
                field.map_or(Value::Unset, Value::Input)
            }
            Expr::Element(array, keys) => {
                let key = self.key(keys)?;
                let found = self.arrays.get(array).and_then(|a| a.get(&key)).cloned();
                match found {
                    Some(value) => value,
                    None => {
                        self.set_element(array, key, Value::Unset)?;
                        Value::Unset
                    }
                }
            }
            Expr::In(keys, array) => {
                let key = self.key(keys)?;
                number(self.arrays.get(array).is_some_and(|a| a.contains_key(&key)))
            }
            Expr::Unary(symbol, operand) => {
                let operand = self.eval(operand)?;
                match *symbol {
                    "!" => number(!operand.is_true()),
                    "-" => Value::Number(-operand.number()),
                    _ => Value::Number(operand.number()),
                }
            }
            Expr::Binary(symbol, left, right) => self.binary(symbol, left, right)?,
            Expr::Match(text, pattern, is_match) => {
                let text = self.eval(text)?.text();
                number(self.pattern(pattern)?.is_match(&text) == *is_match)
            }
            Expr::Choice(condition, then, otherwise) => match self.eval(condition)?.is_true() {
                true => self.eval(then)?,
                false => self.eval(otherwise)?,
            },
            Expr::Assign(operator, target, value) => {
                let value = self.eval(value)?;
                let value = match *operator {
                    "=" => value,
                    operator => {
                        let before = self.eval(target)?.number();
                        Value::Number(arithmetic(operator, before, value.number())?)
                    }
                };
                self.assign(target, value.clone())?;
                value
            }
            Expr::Step(step, target, is_before) => {
                let before = self.eval(target)?.number();
                self.assign(target, Value::Number(before + step))?;
                Value::Number(if *is_before { before } else { before + step })
            }
            Expr::Call(name, arguments) => self.call(name, arguments)?,
        })
    }

    fn binary(&mut self, symbol: &str, left: &Expr, right: &Expr) -> Result<Value, Flow> {
        let number = |is_true: bool| Value::Number(f64::from(is_true));
        let first = self.eval(left)?;
        match (symbol, first.is_true()) {
            ("&&", false) => return Ok(number(false)),
            ("||", true) => return Ok(number(true)),
            _ => {}
        }
        let second = self.eval(right)?;
        Ok(match symbol {
            "&&" | "||" => number(second.is_true()),
            " " => {
                let text = first.text() + &second.text();
                if text.len() > MAX_TEXT {
                    return Err(Flow::Error("a string is too large".into()));
                }
                Value::Text(text)
            }
            "<" => number(first.compare(&second).is_some_and(|o| o.is_lt())),
            "<=" => number(first.compare(&second).is_some_and(|o| o.is_le())),
            ">" => number(first.compare(&second).is_some_and(|o| o.is_gt())),
            ">=" => number(first.compare(&second).is_some_and(|o| o.is_ge())),
            "==" => number(first.compare(&second).is_some_and(|o| o.is_eq())),
            "!=" => number(first.compare(&second).is_none_or(|o| o.is_ne())),
            operator => Value::Number(arithmetic(operator, first.number(), second.number())?),
        })
    }

    fn field_index(&mut self, index: &Expr) -> Result<usize, Flow> {
        let index = self.eval(index)?.number();
        match index >= 0.0 && index <= MAX_ELEMENTS as f64 {
            true => Ok(index as usize),
            false => Err(Flow::Error(format!("invalid field index {index}"))),
        }
    }

    pub(super) fn assign(&mut self, target: &Expr, value: Value) -> Run {
        match target {
            Expr::Name(name) if name == "NF" => {
                let count = value.number().clamp(0.0, MAX_ELEMENTS as f64) as usize;
                self.fields.resize(count + 1, String::new());
                self.join_record();
            }
            Expr::Name(name) => self.set(name, value),
            Expr::Field(index) => match self.field_index(index)? {
                0 => self.set_record(value.text())?,
                index => {
                    if self.fields.len() <= index {
                        self.fields.resize(index + 1, String::new());
                    }
                    self.fields[index] = value.text();
                    self.join_record();
                }
            },
            Expr::Element(array, keys) => {
                let key = self.key(keys)?;
                self.set_element(array, key, value)?;
            }
            _ => {
                return Err(Flow::Error(
                    "the target of an assignment is no variable".into(),
                ));
            }
        }
        Ok(())
    }

    pub(super) fn set_element(&mut self, array: &str, key: String, value: Value) -> Run {
        let elements = self.arrays.entry(array.into()).or_default();
        self.elements += usize::from(elements.insert(key, value).is_none());
        match self.elements > MAX_ELEMENTS {
            true => Err(Flow::Error("the arrays have too many elements".into())),
            false => Ok(()),
        }
    }

    fn join_record(&mut self) {
        self.fields[0] = self.fields[1..].join(&self.text_of("OFS"));
    }

    pub(super) fn record(&self) -> &str {
        &self.fields[0]
    }
}

fn arithmetic(operator: &str, left: f64, right: f64) -> Result<f64, Flow> {
    Ok(match operator {
        "+" => left + right,
        "-" => left - right,
        "*" => left * right,
        "/" | "%" if right == 0.0 => return Err(Flow::Error("division by zero".into())),
        "/" => left / right,
        "%" => left % right,
        _ => left.powf(right),
    })
}
