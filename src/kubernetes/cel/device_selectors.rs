//! CEL selectors of devices.
//!
//! Must not depend on requests.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use k8s_openapi::api::resource::v1::{Device, DeviceAttribute};
use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::{Context, ExecutionError, Value};

use crate::{PER_CALL_LIMIT, ParseError, Program, base_context};

/// Maximum length of an expression, in bytes: `CELSelectorExpressionMaxLength`.
const MAX_LENGTH: usize = 10 * 1024;
/// Maximum cost of the selectors of a claim on all devices. Upstream has none.
const COST_BUDGET: u64 = 2_000_000;

/// Why a selector is not compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompileSelectorError {
    /// It is too long.
    #[error("may not be more than {MAX_LENGTH} bytes (CELSelectorExpressionMaxLength)")]
    TooLong,
    /// It is not an expression.
    #[error("compilation failed: {0}")]
    Parse(#[from] ParseError),
}

/// Why a selector is not evaluated on a device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// The evaluation costs too much.
    #[error("actual cost limit exceeded (CELSelectorExpressionMaxCost, {PER_CALL_LIMIT})")]
    CostLimit,
    /// The evaluations on all devices cost too much.
    #[error(
        "the selectors are above the cost budget of all devices (device-selector-cost, {COST_BUDGET})"
    )]
    CostBudget,
    /// The value is not a boolean; its type.
    #[error("CEL result of type {0} could not be converted to bool")]
    NotBool(String),
    /// A map does not have this key.
    #[error("no such key: {0}")]
    NoSuchKey(String),
    /// The message of the evaluation.
    #[error("{0}")]
    Execution(String),
    /// An attribute of the device that cannot be converted.
    #[error("attribute {name}: {source}")]
    Attribute {
        /// The attribute.
        name: String,
        /// Why.
        source: Box<SelectorError>,
    },
    /// An attribute without a value of a known type.
    #[error("unsupported attribute value")]
    UnsupportedValue,
    /// The conversion of a value is not an expression.
    #[error(transparent)]
    Parse(#[from] ParseError),
}

/// A compiled selector.
pub struct CelSelector {
    program: Program,
    /// The literal keys of index expressions: a domain without attributes or capacity evaluates to
    /// empty.
    literal_keys: Vec<String>,
}

impl CelSelector {
    /// Compiles an expression.
    ///
    /// # Errors
    /// The compilation error, or the limit.
    pub fn compile(text: &str) -> Result<Self, CompileSelectorError> {
        if text.len() > MAX_LENGTH {
            return Err(CompileSelectorError::TooLong);
        }
        Ok(Self {
            program: Program::compile(text)?,
            literal_keys: literal_keys(text),
        })
    }
}

/// The literals in `["..."]` and `['...']`.
fn literal_keys(text: &str) -> Vec<String> {
    let pieces = text.split('[').skip(1);
    let literals = pieces.filter_map(|piece| {
        let inside = piece.split(']').next()?.trim();
        let inside = ['"', '\'']
            .into_iter()
            .find_map(|quote| inside.strip_prefix(quote)?.strip_suffix(quote));
        inside.map(str::to_owned)
    });
    literals.collect()
}

/// A device with its CEL value, or the conversion error.
pub struct CelDevice<'a> {
    /// The device.
    pub device: &'a Device,
    value: Result<CelDeviceValue, SelectorError>,
}

/// The CEL value of a device.
struct CelDeviceValue {
    driver: Value,
    multiple: Value,
    attributes: ValuesByDomain,
    capacity: ValuesByDomain,
}

impl CelDeviceValue {
    fn value(&self, literal_keys: &[String]) -> Value {
        mapping([
            (key("driver"), self.driver.clone()),
            (key("allowMultipleAllocations"), self.multiple.clone()),
            (key("attributes"), self.attributes.value(literal_keys)),
            (key("capacity"), self.capacity.value(literal_keys)),
        ])
    }
}

/// Evaluates selectors on devices, all of them within one cost budget.
pub struct Evaluator {
    base: Context<'static>,
    /// The remaining cost.
    budget: Cell<u64>,
}

impl Default for Evaluator {
    fn default() -> Self {
        Self::new()
    }
}

impl Evaluator {
    /// An evaluator with the full budget.
    pub fn new() -> Self {
        Self {
            base: base_context(),
            budget: Cell::new(COST_BUDGET),
        }
    }

    /// A device of a driver.
    pub fn candidate<'a>(&self, driver: &str, device: &'a Device) -> CelDevice<'a> {
        CelDevice {
            device,
            value: self.cel_device_value(driver, device),
        }
    }

    /// Whether all selectors match the device.
    ///
    /// # Errors
    /// The error of the first selector that fails to evaluate, or the cost limit.
    pub fn matches(
        &self,
        selectors: &[CelSelector],
        candidate: &CelDevice<'_>,
    ) -> Result<bool, SelectorError> {
        for selector in selectors {
            let device = candidate.value.as_ref().map_err(Clone::clone)?;
            let mut scope = self.base.new_inner_scope();
            scope.add_variable_from_value("device", device.value(&selector.literal_keys));
            let evaluation = selector.program.evaluate(&scope);
            if evaluation.exceeds_limit() {
                return Err(SelectorError::CostLimit);
            }
            let left = self.budget.get().checked_sub(evaluation.cost);
            self.budget.set(left.ok_or(SelectorError::CostBudget)?);
            match evaluation.result {
                Ok(Value::Bool(true)) => {}
                Ok(Value::Bool(false)) => return Ok(false),
                Ok(other) => {
                    return Err(SelectorError::NotBool(other.type_of().to_string()));
                }
                Err(ExecutionError::NoSuchKey(key)) => {
                    return Err(SelectorError::NoSuchKey(key.to_string()));
                }
                Err(error) => return Err(SelectorError::Execution(error.to_string())),
            }
        }
        Ok(true)
    }

    /// `driver`, `attributes` and `capacity` by domain, and `allowMultipleAllocations`. Names
    /// without a domain belong to the driver's.
    fn cel_device_value(
        &self,
        driver: &str,
        device: &Device,
    ) -> Result<CelDeviceValue, SelectorError> {
        let mut attributes = ValuesByDomain::default();
        for (name, attribute) in device.attributes.iter().flatten() {
            let value = self.attribute(attribute);
            let value = value.map_err(|error| SelectorError::Attribute {
                name: name.clone(),
                source: Box::new(error),
            })?;
            attributes.put(driver, name, value);
        }
        let mut capacity = ValuesByDomain::default();
        for (name, dimension) in device.capacity.iter().flatten() {
            let value = self.call("quantity", &dimension.value.0)?;
            capacity.put(driver, name, value);
        }
        Ok(CelDeviceValue {
            driver: string(driver),
            multiple: Value::Bool(device.allow_multiple_allocations.unwrap_or(false)),
            attributes,
            capacity,
        })
    }

    fn attribute(&self, attribute: &DeviceAttribute) -> Result<Value, SelectorError> {
        if let Some(int) = attribute.int {
            return Ok(Value::Int(int));
        }
        if let Some(bool) = attribute.bool {
            return Ok(Value::Bool(bool));
        }
        if let Some(text) = &attribute.string {
            return Ok(string(text));
        }
        match &attribute.version {
            Some(version) => self.call("semver", version),
            None => Err(SelectorError::UnsupportedValue),
        }
    }

    /// A value that only a library function can create.
    fn call(&self, function: &str, text: &str) -> Result<Value, SelectorError> {
        let mut scope = self.base.new_inner_scope();
        scope.add_variable_from_value("text", string(text));
        let call = Program::compile(&format!("{function}(text)"))?;
        let value = call.evaluate(&scope).result;
        value.map_err(|error| SelectorError::Execution(error.to_string()))
    }
}

/// Values by domain and name.
#[derive(Default)]
struct ValuesByDomain(HashMap<String, HashMap<Key, Value>>);

impl ValuesByDomain {
    fn put(&mut self, driver: &str, name: &str, value: Value) {
        let (domain, name) = name.split_once('/').unwrap_or((driver, name));
        let domain = self.0.entry(domain.to_owned()).or_default();
        domain.insert(key(name), value);
    }

    /// The value, with empty maps for these domains if they are missing.
    fn value(&self, names: &[String]) -> Value {
        let empty = names.iter().map(|name| (key(name), mapping([])));
        let domains = self.0.iter();
        let domains = domains.map(|(domain, map)| (key(domain), mapping(map.clone())));
        mapping(empty.chain(domains))
    }
}

fn string(text: &str) -> Value {
    Value::String(Arc::new(text.to_owned()))
}

fn key(text: &str) -> Key {
    Key::String(Arc::new(text.to_owned()))
}

fn mapping(entries: impl IntoIterator<Item = (Key, Value)>) -> Value {
    Value::Map(Map {
        map: Arc::new(entries.into_iter().collect()),
    })
}
