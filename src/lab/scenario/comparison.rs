//! Comparisons with amounts and durations: `9`, `">= 3"`, `"> 1Gi, <= 4Gi"`.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Visitor};

use super::duration::{InvalidAmount, ScenarioDuration, TIME_PATTERN};
use kueue_lab_quantity::Quantity;

/// A comparison with one or more amounts, all of which must hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Amounts in billionths: of a unit, or of a second.
    conditions: Vec<(Operator, i128)>,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A quantity, as a regular expression of JSON schemas.
pub(super) const QUANTITY_PATTERN: &str = r"([-+]?(([0-9]+(\.[0-9]*)?|\.[0-9]*)([numkMGTPE]|[KMGTPE]i|[eE][-+]?[0-9]+)?|([numkMGTPE]|[KMGTPE]i|[eE][-+]?[0-9]+))|[-+])";

/// The operators, the longer ones first.
const OPERATORS: [(&str, Operator); 7] = [
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("!=", Operator::NotEqual),
    ("==", Operator::Equal),
    ("<", Operator::Less),
    (">", Operator::Greater),
    ("=", Operator::Equal),
];

impl Operator {
    fn holds(self, value: i128, amount: i128) -> bool {
        match self {
            Self::Equal => value == amount,
            Self::NotEqual => value != amount,
            Self::Less => value < amount,
            Self::LessOrEqual => value <= amount,
            Self::Greater => value > amount,
            Self::GreaterOrEqual => value >= amount,
        }
    }
}

impl Comparison {
    /// `>= 1`.
    pub(super) fn at_least_one() -> Self {
        Self {
            conditions: vec![(Operator::GreaterOrEqual, 1_000_000_000)],
            text: ">= 1".to_owned(),
        }
    }

    fn parse<E>(text: &str, amount: impl Fn(&str) -> Result<i128, E>) -> Result<Self, E> {
        let condition = |part: &str| {
            let part = part.trim();
            let found = OPERATORS
                .iter()
                .find_map(|(sign, operator)| Some((part.strip_prefix(sign)?, *operator)));
            let (rest, operator) = found.unwrap_or((part, Operator::Equal));
            Ok((operator, amount(rest.trim())?))
        };
        Ok(Self {
            conditions: text.split(',').map(condition).collect::<Result<_, E>>()?,
            text: text.trim().to_owned(),
        })
    }

    /// Whether it holds for a value in billionths.
    pub(super) fn holds_nanos(&self, value: i128) -> bool {
        self.conditions
            .iter()
            .all(|(operator, amount)| operator.holds(value, *amount))
    }

    /// The amounts in billionths.
    pub(super) fn amounts(&self) -> impl Iterator<Item = i128> {
        self.conditions.iter().map(|(_, amount)| *amount)
    }

    /// Whether it holds for a number.
    pub(super) fn holds(&self, value: usize) -> bool {
        self.holds_nanos(value as i128 * 1_000_000_000)
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A unit in which comparisons are written.
pub(super) trait Unit {
    /// Its name in the JSON schema.
    const NAME: &'static str;
    /// An amount, as a regular expression of JSON schemas.
    const PATTERN: &'static str;
    /// A description of the syntax, for errors.
    const EXPECTED: &'static str;
    /// The amount in billionths.
    fn amount(text: &str) -> Result<i128, InvalidAmount>;
}

/// Kubernetes quantities.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Amount;

/// Durations.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Time;

impl Unit for Amount {
    const NAME: &'static str = "Amount";
    const PATTERN: &'static str = QUANTITY_PATTERN;
    const EXPECTED: &'static str = "a quantity or a comparison such as 4, \"<= 500m\" or \"> 0\"";
    fn amount(text: &str) -> Result<i128, InvalidAmount> {
        let quantity = text.parse::<Quantity>();
        Ok(quantity.map_err(|_| InvalidAmount::Syntax)?.nanos())
    }
}

impl Unit for Time {
    const NAME: &'static str = "Time";
    const PATTERN: &'static str = TIME_PATTERN;
    const EXPECTED: &'static str = "a time or a comparison such as 90s or \"< 5m\"";
    fn amount(text: &str) -> Result<i128, InvalidAmount> {
        let nanos = i128::try_from(ScenarioDuration::parse(text)?.as_nanos());
        nanos.map_err(|_| InvalidAmount::TooLong)
    }
}

/// A comparison as written in a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RawComparison<U>(pub(super) Comparison, PhantomData<U>);

impl<'de, U: Unit> Deserialize<'de> for RawComparison<U> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text<U>(PhantomData<U>);
        impl<U: Unit> Visitor<'_> for Text<U> {
            type Value = RawComparison<U>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(U::EXPECTED)
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                let parsed = Comparison::parse(text, U::amount);
                let parsed = parsed.map_err(|invalid| invalid.error(text, &self))?;
                Ok(RawComparison(parsed, PhantomData))
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
                self.visit_str(&number.to_string())
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
                self.visit_str(&number.to_string())
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
                self.visit_str(&number.to_string())
            }
        }
        deserializer.deserialize_any(Text(PhantomData))
    }
}

impl<U: Unit> JsonSchema for RawComparison<U> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}Comparison", U::NAME).into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let condition = format!(r"\s*((<=?|>=?|!=|==?)\s*)?{}\s*", U::PATTERN);
        json_schema!({
            "description": U::EXPECTED,
            "type": ["string", "number"],
            "pattern": format!("^{condition}(,{condition})*$"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_hold_or_not() {
        let read = |text: &str| Comparison::parse(text, Amount::amount).unwrap();
        assert!(read("3").holds(3) && !read("3").holds(2));
        assert!(read(">= 1, < 3").holds(2) && !read(">= 1, < 3").holds(3));
        assert!(read("!=2").holds(1));
        assert!(read("<= 500m").holds_nanos(500_000_000));
        assert!(!read("> 1Gi").holds_nanos((1 << 30) * 1_000_000_000));
        for text in ["", "> ", "many", "> 1 2", "1,", "=> 3"] {
            let parsed = Comparison::parse(text, Amount::amount);
            assert_eq!(parsed, Err(InvalidAmount::Syntax), "{text:?}");
        }
        let time = Comparison::parse("< 1m30s", Time::amount).unwrap();
        assert!(time.holds_nanos(89_000_000_000) && !time.holds_nanos(90_000_000_000));
    }
}
