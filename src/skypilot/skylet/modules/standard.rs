//! Functions of Python's standard library.

use kueue_lab_container::filesystem::Errno;
use std::time::Duration;

use kueue_lab_python::{Arguments, Exception, Value};

use super::host::Modules;
use crate::runtime::{HOME, expand_user, now};

/// Calls a function.
pub(super) async fn call(
    modules: &mut Modules,
    name: &str,
    arguments: &Arguments,
) -> Result<Value, Exception> {
    let first = || arguments.required(0, "argument");
    let path = || arguments.text(0, "path").map(|path| absolute(&path));
    Ok(match name {
        "print" => {
            let texts: Vec<String> = arguments.positional.iter().map(Value::to_text).collect();
            let end = arguments
                .by_name("end")
                .and_then(Value::as_str)
                .unwrap_or("\n");
            modules.print(format!("{}{end}", texts.join(" "))).await;
            Value::None
        }
        "sys.exit" => {
            let code = match arguments.positional.first() {
                None | Some(Value::None) => 0,
                Some(code) => code.as_int().unwrap_or(1),
            };
            return Err(Exception::Exit(i32::try_from(code).unwrap_or(1)));
        }
        "sys.stdout.flush" | "sys.stderr.flush" => Value::None,
        "time.sleep" => {
            let time = first()?.as_float().unwrap_or_default();
            let time = Duration::try_from_secs_f64(time);
            let time = time.map_err(|error| Exception::new("ValueError", error.to_string()))?;
            modules.container.system().sleep(time).await;
            Value::None
        }
        "time.time" => Value::Float(now(&modules.container)),
        "getpass.getuser" => Value::str("root"),
        "os.getpid" => Value::Int(modules.container.next_pid().into()),
        "os.environ.get" | "os.getenv" => {
            let known = modules.environment.get(&arguments.text(0, "key")?);
            let known = known.map(|value| Value::str(value.as_str()));
            let default = || arguments.get(1, "default").cloned();
            known.or_else(default).unwrap_or(Value::None)
        }
        "os.environ.__getitem__" => {
            let key = arguments.text(0, "key")?;
            let known = modules.environment.get(&key);
            let missing = || Exception::new("KeyError", format!("'{key}'"));
            Value::str(known.ok_or_else(missing)?.as_str())
        }
        "shlex.quote" => {
            let text = arguments.text(0, "s")?.replace('\'', "'\"'\"'");
            Value::str(format!("'{text}'"))
        }
        "os.environ.__setitem__" => {
            let (key, value) = (arguments.text(0, "key")?, arguments.text(1, "value")?);
            modules.environment.insert(key, value);
            Value::None
        }
        "os.path.expanduser" => Value::str(expand_user(&arguments.text(0, "path")?)),
        "os.path.exists" => Value::Bool(modules.container.exists(&path()?)),
        "os.path.dirname" => {
            let path = arguments.text(0, "path")?;
            Value::str(path.rsplit_once('/').map_or("", |(directory, _)| directory))
        }
        "os.path.join" => {
            let mut joined = String::new();
            for part in &arguments.positional {
                let part = part.to_text();
                if part.starts_with('/') {
                    joined.clear();
                } else if !joined.is_empty() && !joined.ends_with('/') {
                    joined.push('/');
                }
                joined.push_str(&part);
            }
            Value::str(joined)
        }
        "os.makedirs" | "shutil.copytree" => {
            // Templates are the files of a package, of which only the directory exists.
            let target = match name {
                "os.makedirs" => path()?,
                _ => absolute(&arguments.text(1, "dst")?),
            };
            modules
                .container
                .create_directory(&target)
                .map_err(os_error)?;
            Value::None
        }
        "open" => {
            let path = path()?;
            let mode = arguments
                .get(1, "mode")
                .and_then(Value::as_str)
                .unwrap_or("r");
            if mode.starts_with('w') {
                modules
                    .container
                    .write_file(&path, b"", false)
                    .map_err(os_error)?;
            } else if !modules.container.exists(&path) {
                let text = format!("[Errno 2] No such file or directory: '{path}'");
                return Err(Exception::new("FileNotFoundError", text));
            }
            Value::object("File", vec![("name".into(), Value::str(path))])
        }
        "json.dumps" => Value::str(first()?.to_json()?.to_string()),
        "json.dump" => {
            let text = first()?.to_json()?.to_string();
            let path = file_name(arguments.required(1, "fp")?)?;
            let written = modules.container.write_file(&path, text.as_bytes(), false);
            written.map_err(os_error)?;
            Value::None
        }
        "json.load" => {
            let data = modules.container.read_file(&file_name(first()?)?);
            json(&data.unwrap_or_default())?
        }
        "json.loads" => json(arguments.text(0, "s")?.as_bytes())?,
        name => return Err(Exception::not_supported(name)),
    })
}

/// A path that starts at `/`; the working directory of programs is the home directory.
fn absolute(path: &str) -> String {
    match expand_user(path) {
        path if path.starts_with('/') => path,
        path => format!("{HOME}/{path}"),
    }
}

fn os_error(error: Errno) -> Exception {
    Exception::new("OSError", error.to_string())
}

fn file_name(file: &Value) -> Result<String, Exception> {
    let Value::Object(file) = file else {
        return Err(Exception::new("TypeError", "expected a file"));
    };
    let mut attributes = file.attributes.iter();
    let name = attributes.find(|(name, _)| name == "name");
    Ok(name.map(|(_, name)| name.to_text()).unwrap_or_default())
}

fn json(data: &[u8]) -> Result<Value, Exception> {
    let json = serde_json::from_slice(data);
    let json = json.map_err(|error| Exception::new("JSONDecodeError", error.to_string()))?;
    Ok(Value::from_json(&json))
}
