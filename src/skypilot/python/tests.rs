//! Programs with their output.

use async_trait::async_trait;

use crate::{Arguments, Exception, Host, Value, run};

/// A host with a module `m`.
#[derive(Default)]
struct Recorder {
    printed: Vec<String>,
}

#[async_trait]
impl Host for Recorder {
    fn constant(&self, name: &str) -> Option<Value> {
        (name == "m.VERSION").then(|| Value::str("42"))
    }

    fn has(&self, name: &str) -> bool {
        matches!(name, "m.VERSION" | "m.pair")
    }

    async fn call(&mut self, name: &str, arguments: Arguments) -> Result<Value, Exception> {
        match name {
            "print" => {
                let texts = arguments.positional.iter().map(Value::to_text);
                self.printed.push(texts.collect::<Vec<_>>().join(" "));
                Ok(Value::None)
            }
            "m.pair" => Ok(Value::Tuple(arguments.positional.into())),
            "m.make" => Ok(Value::object("Thing", vec![("size".into(), Value::Int(3))])),
            "Thing.grow" => Ok(Value::Int(arguments.positional.len() as i64)),
            "__main__.own" => Ok(Value::str(format!("{:?}", arguments.named.len()))),
            "sys.exit" => Err(Exception::Exit(arguments.int(0, "code").unwrap_or(0) as i32)),
            other => Err(Exception::not_supported(other)),
        }
    }
}

async fn output(program: &str) -> (Vec<String>, Result<(), Exception>) {
    let mut host = Recorder::default();
    let result = run(program, &mut host).await;
    (host.printed, result)
}

#[tokio::test]
async fn programs_print() {
    for (program, expected) in [
        (
            "import m\nif int(m.VERSION) < 9: print('old')\nelse:\n print(m.VERSION)",
            "42",
        ),
        (
            "import m;x = m.pair(1, 'a')\nif isinstance(x, tuple):\n  print('ID: ' + str(x[0]), flush=True)",
            "ID: 1",
        ),
        ("x = 5 if None != None else [1]\nprint(x)", "[1]"),
        (
            "d = {}\nd['k'] = 'v\\'s'\nprint(d, 1.0, (1,), True)",
            "{'k': \"v's\"} 1.0 (1,) True",
        ),
        (
            "a = {ip: i for i, ip in enumerate(['x', 'y'])}\nprint(sorted(['y', 'z', 'x'], key=lambda ip: (a.get(ip, len(a)), ip)))",
            "['x', 'y', 'z']",
        ),
        ("print(f'{1 + 1}-{\"a\"!r}' 'b')", "2-'a'b"),
        (
            "import m as n\nprint(hasattr(n, 'pair'), getattr(n, 'none', 1))",
            "True 1",
        ),
        (
            "from m import make\nt = make()\nprint(t.size, t.grow(2))",
            "3 2",
        ),
        (
            "def own(a):\n    while True:\n        pass\nprint(own(a=1))",
            "1",
        ),
        (
            "s = 0\nfor i in range(5):\n    if i == 3: break\n    s += i\nprint(s, any(r == 2 for r in [1, 2]))",
            "3 True",
        ),
        ("s = {1, 2}\nprint(2 in s, 3 in s)", "True False"),
        (
            "print([a + b for a, b in zip([1, 2], [3, 4, 5])])",
            "[4, 6]",
        ),
        (
            "print('\\n'.join(['a', 'b']), [i for i in [1, 2, 3] if i != 2])",
            "a\nb [1, 3]",
        ),
    ] {
        let (printed, result) = output(program).await;
        assert_eq!(result, Ok(()), "{program}");
        assert_eq!(printed, [expected], "{program}");
    }
}

#[tokio::test]
async fn exceptions_end_the_program() {
    for (program, expected) in [
        ("import sys\nsys.exit(3)\nprint(1)", "SystemExit: 3"),
        ("raise RuntimeError('too old')", "RuntimeError: too old"),
        ("print(x)", "NameError: name 'x' is not defined"),
        ("x = [1][2]", "IndexError: list index out of range"),
        ("{}['a']", "KeyError: 'a'"),
        (
            "import m\nm.other()",
            "NotImplementedError: m.other is not supported by the simulated Python",
        ),
        (
            "while True: pass",
            "NotImplementedError: this statement is not supported by the simulated Python",
        ),
        ("x = [0] * 100000000", "MemoryError: the value is too large"),
        (
            "for i in range(2000000): x = i",
            "RecursionError: the program is too complex",
        ),
    ] {
        let (printed, result) = output(program).await;
        assert_eq!(result.unwrap_err().to_string(), expected, "{program}");
        assert!(printed.is_empty());
    }
    let deep = format!("x = {}1{}", "(".repeat(5000), ")".repeat(5000));
    assert!(output(&deep).await.1.is_err());
    let chain = format!("x = 1{}", " + 1".repeat(5000));
    assert!(output(&chain).await.1.is_err());
    assert!(
        output("x = (")
            .await
            .1
            .unwrap_err()
            .to_string()
            .starts_with("SyntaxError")
    );
}

proptest::proptest! {
    #[test]
    fn no_text_panics(program in "[a-z0-9 =()\\[\\]{}'\"f:,.+*%<!\\n-]{0,60}") {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let _ = runtime.block_on(output(&program));
    }
}
