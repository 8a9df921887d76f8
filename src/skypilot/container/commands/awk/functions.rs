//! The functions of the language.

use regex::{Captures, Regex};

use super::format::sprintf;
use super::interpreter::{Flow, Interpreter};
use super::program::Expr;
use super::value::Value;

impl Interpreter<'_> {
    /// Calls a function.
    pub(super) fn call(&mut self, name: &str, arguments: &[Expr]) -> Result<Value, Flow> {
        match (name, arguments) {
            ("length", [Expr::Name(array)]) if self.arrays.contains_key(array) => {
                let count = self
                    .arrays
                    .get(array)
                    .map_or(0, std::collections::BTreeMap::len);
                return Ok(Value::Number(count as f64));
            }
            ("split", [text, Expr::Name(array), separator @ ..]) => {
                return self.split_call(text, array, separator.first());
            }
            ("sub" | "gsub", [pattern, with, target @ ..]) => {
                return self.substitute(name == "gsub", pattern, with, target.first());
            }
            ("match", [text, pattern]) => {
                let text = self.eval(text)?.text();
                let found = self.pattern(pattern)?.find(&text).map(|found| {
                    let start = text[..found.start()].chars().count() + 1;
                    (start as f64, found.as_str().chars().count() as f64)
                });
                let (start, length) = found.unwrap_or((0.0, -1.0));
                self.set("RSTART", Value::Number(start));
                self.set("RLENGTH", Value::Number(length));
                return Ok(Value::Number(start));
            }
            _ => {}
        }
        let mut values = Vec::new();
        for argument in arguments {
            values.push(self.eval(argument)?);
        }
        let record = Value::Text(self.record().to_owned());
        let first = values.first().unwrap_or(&record);
        let text = |value: &Value| value.text();
        Ok(match (name, values.len()) {
            ("length", 0 | 1) => Value::Number(text(first).chars().count() as f64),
            ("substr", 2 | 3) => {
                let length = values.get(2).map_or(f64::INFINITY, Value::number);
                Value::Text(substr(&text(first), values[1].number(), length))
            }
            ("index", 2) => {
                let (text, part) = (text(first), text(&values[1]));
                let at = text.find(&part).map(|at| text[..at].chars().count() + 1);
                Value::Number(at.unwrap_or(0) as f64)
            }
            ("tolower", 1) => Value::Text(text(first).to_lowercase()),
            ("toupper", 1) => Value::Text(text(first).to_uppercase()),
            ("sprintf", 1..) => Value::Text(sprintf(&text(first), &values[1..])),
            ("int", 1) => Value::Number(first.number().trunc()),
            ("sqrt", 1) => Value::Number(first.number().sqrt()),
            ("exp", 1) => Value::Number(first.number().exp()),
            ("log", 1) => Value::Number(first.number().ln()),
            ("sin", 1) => Value::Number(first.number().sin()),
            ("cos", 1) => Value::Number(first.number().cos()),
            ("atan2", 2) => Value::Number(first.number().atan2(values[1].number())),
            _ => return Err(Flow::Error(format!("the function {name} is not supported"))),
        })
    }

    fn split_call(
        &mut self,
        text: &Expr,
        array: &str,
        separator: Option<&Expr>,
    ) -> Result<Value, Flow> {
        let text = self.eval(text)?.text();
        let separator = match separator {
            None => self.text_of("FS"),
            Some(Expr::Regex(regex)) => regex.clone(),
            Some(other) => self.eval(other)?.text(),
        };
        let parts = self.split(&text, &separator)?;
        self.arrays.remove(array);
        let count = parts.len();
        for (at, part) in parts.into_iter().enumerate() {
            self.set_element(array, (at + 1).to_string(), Value::Input(part))?;
        }
        Ok(Value::Number(count as f64))
    }

    fn substitute(
        &mut self,
        all: bool,
        pattern: &Expr,
        with: &Expr,
        target: Option<&Expr>,
    ) -> Result<Value, Flow> {
        let record = Expr::Field(Box::new(Expr::Number(0.0)));
        let target = target.unwrap_or(&record);
        let regex: Regex = self.pattern(pattern)?;
        let with = self.eval(with)?.text();
        let text = self.eval(target)?.text();
        let mut count = 0;
        let replaced = regex.replacen(&text, usize::from(!all), |found: &Captures<'_>| {
            count += 1;
            replacement(&with, &found[0])
        });
        if count > 0 {
            let replaced = Value::Text(replaced.into_owned());
            self.assign(target, replaced)?;
        }
        Ok(Value::Number(f64::from(count)))
    }
}

/// The replacement of a match: `&` is the match.
fn replacement(with: &str, found: &str) -> String {
    let mut out = String::new();
    let mut letters = with.chars();
    while let Some(c) = letters.next() {
        match c {
            '&' => out.push_str(found),
            '\\' => match letters.next() {
                Some(c @ ('&' | '\\')) => out.push(c),
                Some(c) => out.extend(['\\', c]),
                None => out.push('\\'),
            },
            c => out.push(c),
        }
    }
    out
}

/// The characters from a position on, which counts from 1.
fn substr(text: &str, from: f64, length: f64) -> String {
    let from = from.round();
    let end = from + length.round();
    let is_in = |at: usize| {
        let at = at as f64 + 1.0;
        at >= from && at < end
    };
    let letters = text.chars().enumerate();
    letters
        .filter(|(at, _)| is_in(*at))
        .map(|(_, c)| c)
        .collect()
}
