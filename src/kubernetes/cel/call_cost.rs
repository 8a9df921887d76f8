//! Cost of calls by the sizes of their values: `CallCost` of `k8s.io/apiserver/pkg/cel/library` and
//! `costCall` of cel-go's cost tracker.

use kube_cel::cel::Value;
use kube_cel::cel::common::ast::LiteralValue;
use kube_cel::cel::objects::Key;

/// cel-go's `StringTraversalCostFactor`.
const STRING_TRAVERSAL: f64 = 0.1;
/// cel-go's `RegexStringLengthCostFactor`.
const REGEX_LENGTH: f64 = 0.25;
/// The size of an address in bytes; the values of the library do not expose it.
const ADDRESS_SIZE: u64 = 4;
/// The cost of one authorization check: two fit into an expression.
const AUTHORIZATION_CHECK: u64 = 350_000;

/// The dependence of the cost of a call on the sizes of its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallCost {
    /// The same for all values.
    Fixed(u64),
    /// One traversal of the first value.
    Traversal,
    /// Two traversals of the first value.
    TwoTraversals,
    /// One traversal of the first value if it is bytes, else 1.
    BytesTraversal,
    /// All nodes of the first value.
    Tree,
    /// Two traversals of the result.
    Result,
    /// The smaller value: equality.
    Equality,
    /// The smaller value if both are strings or bytes, else 1.
    Comparison,
    /// Both values if they are strings or bytes, else 1.
    Addition,
    /// The items of the second value if it is a list, else 1.
    Membership,
    /// The product of both traversals.
    Contains,
    /// The first value, for each expression in the second one.
    Regex,
    /// The first value, for each expression in a regular expression of this length.
    RegexOfLength(u32),
    /// The requirements of a selector, the second value.
    Selector,
    /// An address compared with a network, the first value.
    ContainsIp,
    /// A network compared with another one, the first value.
    ContainsCidr,
    /// Each item of the first value compared with each of the second one, this many times.
    Sets(u8),
}

/// The cost models by code.
const CODES: [CallCost; 17] = [
    CallCost::Fixed(1),
    CallCost::Traversal,
    CallCost::TwoTraversals,
    CallCost::BytesTraversal,
    CallCost::Tree,
    CallCost::Result,
    CallCost::Equality,
    CallCost::Comparison,
    CallCost::Addition,
    CallCost::Membership,
    CallCost::Contains,
    CallCost::Regex,
    CallCost::Selector,
    CallCost::ContainsIp,
    CallCost::ContainsCidr,
    CallCost::Sets(1),
    CallCost::Sets(2),
];

/// The type of a value, as far as the cost depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SizedType {
    Text,
    Bytes,
    List,
    Other,
}

/// The size of a value and its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ValueSize {
    kind: SizedType,
    /// Characters, bytes, items or entries; 1 for other types.
    size: u64,
    /// The cost of the traversal of all nodes.
    tree: u64,
}

impl ValueSize {
    /// The size of a value without a size.
    pub(crate) const SCALAR: Self = Self {
        kind: SizedType::Other,
        size: 1,
        tree: 1,
    };

    /// The size of a value; its nodes are traversed only `with_tree`.
    pub(crate) fn of(value: &Value, with_tree: bool) -> Self {
        let (kind, size) = match value {
            Value::String(text) => (SizedType::Text, text.chars().count()),
            Value::Bytes(bytes) => (SizedType::Bytes, bytes.len()),
            Value::List(items) => (SizedType::List, items.len()),
            Value::Map(map) => (SizedType::Other, map.map.len()),
            _ => (SizedType::Other, 1),
        };
        Self {
            kind,
            size: size as u64,
            tree: if with_tree { traversal_cost(value) } else { 0 },
        }
    }

    /// The size of a literal.
    pub(crate) fn of_literal(literal: &LiteralValue) -> Self {
        let (kind, size) = match literal {
            LiteralValue::String(text) => (SizedType::Text, text.inner().chars().count()),
            LiteralValue::Bytes(bytes) => (SizedType::Bytes, bytes.inner().len()),
            _ => return Self::SCALAR,
        };
        let size = size as u64;
        Self {
            kind,
            size,
            tree: scaled(size, STRING_TRAVERSAL),
        }
    }

    /// The size of a list with a number of items.
    pub(crate) fn of_list(items: usize) -> Self {
        Self {
            kind: SizedType::List,
            size: items as u64,
            tree: 0,
        }
    }

    /// The size of a map with a number of entries.
    pub(crate) fn of_map(entries: usize) -> Self {
        Self {
            kind: SizedType::Other,
            size: entries as u64,
            tree: 0,
        }
    }

    /// The type and size as a number.
    pub(crate) fn to_code(self) -> u64 {
        let kind = match self.kind {
            SizedType::Text => 0,
            SizedType::Bytes => 1,
            SizedType::List => 2,
            SizedType::Other => 3,
        };
        (self.size << 2) | kind
    }

    /// The reverse of [`Self::to_code`].
    pub(crate) fn of_code(code: u64) -> Self {
        let kind = match code & 3 {
            0 => SizedType::Text,
            1 => SizedType::Bytes,
            2 => SizedType::List,
            _ => SizedType::Other,
        };
        Self {
            kind,
            size: code >> 2,
            tree: 0,
        }
    }

    fn is_text(self) -> bool {
        matches!(self.kind, SizedType::Text | SizedType::Bytes)
    }

    fn traversal(self) -> u64 {
        scaled(self.size, STRING_TRAVERSAL)
    }
}

impl CallCost {
    /// The cost model of a function or operator.
    pub(crate) fn of_function(name: &str) -> Self {
        use CallCost::{
            Addition, BytesTraversal, Comparison, Contains, ContainsCidr, ContainsIp, Equality,
            Fixed, Membership, Regex, Result, Selector, Sets, Traversal, Tree, TwoTraversals,
        };
        match name {
            "_&&_" | "_||_" | "_?_:_" => Fixed(0),
            "_==_" | "_!=_" => Equality,
            "_<_" | "_<=_" | "_>_" | "_>=_" => Comparison,
            "_+_" => Addition,
            "@in" => Membership,
            "check" => Fixed(AUTHORIZATION_CHECK),
            "fieldSelector" | "labelSelector" => Selector,
            "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => Tree,
            "url" | "lowerAscii" | "upperAscii" | "substring" | "trim" | "escapeKey" | "cidr"
            | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver" | "isSemver"
            | "startsWith" | "endsWith" | "bytes" | "quote" | "format" => Traversal,
            "replace" | "split" | "isCanonical" => TwoTraversals,
            "string" => BytesTraversal,
            "join" => Result,
            "find" | "findAll" | "matches" => Regex,
            "contains" => Contains,
            "containsIP" => ContainsIp,
            "containsCIDR" => ContainsCidr,
            "sets.contains" | "sets.intersects" => Sets(1),
            "sets.equivalent" => Sets(2),
            _ => Fixed(1),
        }
    }

    /// Whether the cost depends on the first value.
    pub(crate) fn reads_first(self) -> bool {
        !matches!(
            self,
            Self::Fixed(_) | Self::Result | Self::Membership | Self::Selector
        )
    }

    /// Whether the cost depends on the second value.
    pub(crate) fn reads_second(self) -> bool {
        matches!(
            self,
            Self::Equality
                | Self::Comparison
                | Self::Addition
                | Self::Membership
                | Self::Contains
                | Self::Regex
                | Self::Selector
                | Self::ContainsIp
                | Self::ContainsCidr
                | Self::Sets(_)
        )
    }

    /// Whether the cost depends on all nodes of the first value.
    pub(crate) fn reads_tree(self) -> bool {
        self == Self::Tree
    }

    /// Whether the cost is 1 if one of the values is a literal of this size.
    pub(crate) fn is_fixed_with(self, literal: ValueSize) -> bool {
        match self {
            Self::Addition | Self::Comparison => !literal.is_text(),
            Self::Equality => literal == ValueSize::SCALAR,
            _ => false,
        }
    }

    /// The cost model as a number; 0 for a fixed cost.
    pub(crate) fn to_code(self) -> u64 {
        if let Self::RegexOfLength(length) = self {
            return CODES.len() as u64 + u64::from(length);
        }
        let position = CODES.iter().position(|cost| *cost == self);
        position.unwrap_or_default() as u64
    }

    /// The reverse of [`Self::to_code`].
    pub(crate) fn of_code(code: u64) -> Option<Self> {
        let index = usize::try_from(code).ok()?;
        match CODES.get(index) {
            Some(cost) => Some(*cost),
            None => {
                let length = u32::try_from(index - CODES.len()).ok()?;
                Some(Self::RegexOfLength(length))
            }
        }
    }

    /// The cost of a call. A value that the cost does not depend on has any size.
    pub(crate) fn cost(self, first: ValueSize, second: ValueSize) -> u64 {
        match self {
            Self::Fixed(cost) => cost,
            Self::Traversal => first.traversal(),
            Self::TwoTraversals | Self::Result => {
                scaled(first.size.saturating_mul(2), STRING_TRAVERSAL)
            }
            Self::BytesTraversal if first.kind == SizedType::Bytes => first.traversal(),
            Self::Tree => first.tree,
            Self::Equality => scaled(first.size.min(second.size), STRING_TRAVERSAL),
            Self::Comparison if first.is_text() && second.is_text() => {
                scaled(first.size.min(second.size), STRING_TRAVERSAL)
            }
            Self::Addition if first.is_text() && second.is_text() => {
                scaled(first.size.saturating_add(second.size), STRING_TRAVERSAL)
            }
            Self::Membership if second.kind == SizedType::List => second.size,
            Self::BytesTraversal | Self::Comparison | Self::Addition | Self::Membership => 1,
            Self::Contains => first.traversal().saturating_mul(second.traversal()),
            Self::Regex => regex_cost(first.size, second.size),
            Self::RegexOfLength(length) => regex_cost(first.size, length.into()),
            Self::Selector => {
                // A list, and for each requirement a list and a structure.
                let requirements = scaled(second.size, 0.5);
                let parsing = second.traversal().saturating_add(10);
                parsing.saturating_add(requirements.saturating_mul(50))
            }
            Self::ContainsIp => contains_ip(second),
            Self::ContainsCidr => {
                let masking = scaled(ADDRESS_SIZE, STRING_TRAVERSAL) + 1;
                contains_ip(second).saturating_add(masking)
            }
            Self::Sets(times) => first
                .size
                .saturating_mul(second.size)
                .saturating_mul(times.into())
                .saturating_add(1),
        }
    }
}

fn contains_ip(other: ValueSize) -> u64 {
    let parsing = match other.kind {
        SizedType::Text => other.traversal(),
        _ => 0,
    };
    parsing.saturating_add(scaled(2 * ADDRESS_SIZE, STRING_TRAVERSAL))
}

fn regex_cost(text: u64, pattern: u64) -> u64 {
    scaled(text.saturating_add(1), STRING_TRAVERSAL).saturating_mul(scaled(pattern, REGEX_LENGTH))
}

/// A size times a factor, rounded up, in floating point as upstream.
fn scaled(size: u64, factor: f64) -> u64 {
    (size as f64 * factor).ceil() as u64
}

/// The cost of the traversal of all nodes of a value.
fn traversal_cost(value: &Value) -> u64 {
    match value {
        Value::String(text) => (text.len() as f64 * STRING_TRAVERSAL) as u64,
        Value::Bytes(bytes) => (bytes.len() as f64 * STRING_TRAVERSAL) as u64,
        Value::List(items) => items.iter().map(traversal_cost).sum(),
        Value::Map(map) => {
            let entries = map.map.iter();
            let cost = entries.map(|(key, value)| key_cost(key) + traversal_cost(value));
            cost.sum()
        }
        _ => 1,
    }
}

fn key_cost(key: &Key) -> u64 {
    match key {
        Key::String(text) => (text.len() as f64 * STRING_TRAVERSAL) as u64,
        _ => 1,
    }
}

/// The length of the regular expression of a named format, `library/format.go`.
pub(crate) fn format_regex_length(format: &str) -> u32 {
    match format {
        "dns1123Subdomain" | "dns1123SubdomainPrefix" | "qualifiedName" => 60,
        "labelValue" => 40,
        "uri" => 1103,
        "byte" => 84,
        "uuid" => 86,
        "date" | "datetime" => 70,
        _ => 30,
    }
}
