//! `printf` and the text of numbers.

use kueue_lab_shell::printf::{Arguments, Directive, format, general};

use super::value::Value;

/// The text of a number: an integer, or `%.6g`.
pub(super) fn number_text(number: f64) -> String {
    match number.fract() == 0.0 && number.abs() < 1e16 {
        true => format!("{}", number as i64),
        false => general(number, 6),
    }
}

/// Formats values, as `sprintf`.
pub(super) fn sprintf(text: &str, values: &[Value]) -> String {
    format(text, &mut Values(values.iter()))
}

struct Values<'a>(std::slice::Iter<'a, Value>);

impl Arguments for Values<'_> {
    fn width(&mut self) -> i64 {
        self.0.next().map_or(0, |value| value.number() as i64)
    }

    fn convert(&mut self, directive: &Directive) -> String {
        let value = self.0.next().unwrap_or(&Value::Unset);
        match directive.conversion {
            'd' | 'i' => directive.signed(value.number() as i64),
            'u' | 'o' | 'x' | 'X' => directive.unsigned(value.number() as i64),
            'f' | 'F' | 'e' | 'E' | 'g' | 'G' => directive.float(value.number()),
            'c' => match value {
                Value::Number(code) => char::from_u32(*code as u32).into_iter().collect(),
                other => other.text().chars().take(1).collect(),
            },
            _ => directive.text(&value.text()),
        }
    }
}
