//! Runs statements.

use super::format::sprintf;
use super::interpreter::{Flow, Interpreter, MAX_TEXT, Run};
use super::program::{Expr, Statement};
use super::value::Value;

impl Interpreter<'_> {
    pub(super) fn block(&mut self, statements: &[Statement]) -> Run {
        statements.iter().try_for_each(|s| self.statement(s))
    }

    /// Runs the body of a loop; whether the loop continues.
    fn body(&mut self, statements: &[Statement]) -> Result<bool, Flow> {
        match self.block(statements) {
            Err(Flow::Break) => Ok(false),
            Ok(()) | Err(Flow::Continue) => Ok(true),
            Err(other) => Err(other),
        }
    }

    fn statement(&mut self, statement: &Statement) -> Run {
        self.step()?;
        match statement {
            Statement::Expr(e) => self.eval(e).map(drop),
            Statement::Print {
                values,
                is_formatted,
                to_stderr,
            } => self.print(values, *is_formatted, *to_stderr),
            Statement::If(condition, then, otherwise) => match self.eval(condition)?.is_true() {
                true => self.block(then),
                false => self.block(otherwise),
            },
            Statement::While(condition, body) => {
                while self.eval(condition)?.is_true() && self.body(body)? {}
                Ok(())
            }
            Statement::DoWhile(body, condition) => {
                while self.body(body)? && self.eval(condition)?.is_true() {}
                Ok(())
            }
            Statement::For(first, condition, step, body) => {
                if let Some(first) = first {
                    self.eval(first)?;
                }
                loop {
                    let goes_on = match condition {
                        Some(condition) => self.eval(condition)?.is_true(),
                        None => true,
                    };
                    if !goes_on || !self.body(body)? {
                        return Ok(());
                    }
                    self.step()?;
                    if let Some(step) = step {
                        self.eval(step)?;
                    }
                }
            }
            Statement::ForIn(key, array, body) => {
                let keys: Vec<String> = match self.arrays.get(array) {
                    Some(elements) => elements.keys().cloned().collect(),
                    None => Vec::new(),
                };
                for element in keys {
                    self.set(key, Value::Input(element));
                    if !self.body(body)? {
                        break;
                    }
                }
                Ok(())
            }
            Statement::Delete(array, keys) => {
                match keys.is_empty() {
                    true => {
                        self.arrays.remove(array);
                    }
                    false => {
                        let key = self.key(keys)?;
                        let elements = self.arrays.get_mut(array);
                        elements.map(|elements| elements.remove(&key));
                    }
                }
                Ok(())
            }
            Statement::Next => Err(Flow::Next),
            Statement::Exit(code) => {
                if let Some(code) = code {
                    self.exit_code = self.eval(code)?.number() as i32 & 0xff;
                }
                Err(Flow::Exit)
            }
            Statement::Break => Err(Flow::Break),
            Statement::Continue => Err(Flow::Continue),
        }
    }

    pub(super) fn print(&mut self, values: &[Expr], is_formatted: bool, to_stderr: bool) -> Run {
        let mut found = Vec::new();
        for value in values {
            found.push(self.eval(value)?);
        }
        let text = match (found.split_first(), is_formatted) {
            (Some((format, rest)), true) => sprintf(&format.text(), rest),
            (None, _) => format!("{}{}", self.fields[0], self.text_of("ORS")),
            (Some(_), false) => {
                let texts: Vec<String> = found.iter().map(Value::text).collect();
                format!(
                    "{}{}",
                    texts.join(&self.text_of("OFS")),
                    self.text_of("ORS")
                )
            }
        };
        let to = match to_stderr {
            true => &mut self.errors,
            false => &mut self.out,
        };
        to.push_str(&text);
        match to.len() > MAX_TEXT {
            true => Err(Flow::Error("the output is too large".into())),
            false => Ok(()),
        }
    }
}
