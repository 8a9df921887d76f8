//! The functions of modules.

use async_trait::async_trait;

use crate::error::Exception;
use crate::value::Value;

/// The arguments of a call.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    /// By position.
    pub positional: Vec<Value>,
    /// By name.
    pub named: Vec<(String, Value)>,
}

impl Arguments {
    /// The argument with this position or name; `None` if it is absent.
    pub fn get(&self, position: usize, name: &str) -> Option<&Value> {
        self.positional.get(position).or_else(|| self.by_name(name))
    }

    /// The argument with this name.
    pub fn by_name(&self, name: &str) -> Option<&Value> {
        let named = self.named.iter().find(|(known, _)| known == name);
        named.map(|(_, value)| value)
    }

    /// The argument with this position or name.
    ///
    /// # Errors
    /// `TypeError` if it is absent.
    pub fn required(&self, position: usize, name: &str) -> Result<&Value, Exception> {
        self.get(position, name).ok_or_else(|| {
            Exception::type_error(format!("missing 1 required positional argument: '{name}'"))
        })
    }

    /// The text of an argument.
    ///
    /// # Errors
    /// `TypeError` if it is absent or no text.
    pub fn text(&self, position: usize, name: &str) -> Result<String, Exception> {
        let value = self.required(position, name)?;
        let text = value.as_str().map(str::to_owned);
        text.ok_or_else(|| Exception::type_error(format!("{name} must be str")))
    }

    /// The integer of an argument; `None` if it is absent or `None`.
    pub fn int(&self, position: usize, name: &str) -> Option<i64> {
        self.get(position, name)?.as_int()
    }
}

/// The functions and values outside of the program.
#[async_trait]
pub trait Host: Send {
    /// The value of a name of a module, such as `sys.argv`; `None` if it is a function, class or module.
    fn constant(&self, name: &str) -> Option<Value>;

    /// Whether a module has a name.
    fn has(&self, name: &str) -> bool;

    /// Calls a function of a module by its full name, a function of the program (`__main__.NAME`) or a
    /// method of an object (`CLASS.METHOD`, with the object as the first argument).
    ///
    /// # Errors
    /// The exception that the function raises.
    async fn call(&mut self, name: &str, arguments: Arguments) -> Result<Value, Exception>;
}
