//! Costs of expressions. The expected costs are those of upstream's tests of its cost tracker and
//! its CEL libraries, or follow from the same rules.

use std::sync::Arc;

use serde_json::{Value, json};

use super::activation::{Activation, EvaluationResult};
use super::authorizer::{AuthorizationCheck, Authorizer, CheckDecision};
use super::cost::CostBudget;
use super::program::{compile, evaluate_with};
use super::value::untyped_to_cel;

fn cost(expression: &str, variables: &[(&'static str, Value)]) -> u64 {
    let program = compile(expression).unwrap();
    let values = variables.iter().map(|(n, v)| (*n, untyped_to_cel(v)));
    let evaluation = evaluate_with(values, &program);
    evaluation
        .result
        .unwrap_or_else(|e| panic!("{expression}: {e}"));
    evaluation.cost
}

#[test]
fn operators_cost_what_they_evaluate() {
    let input = json!({"key": "v", "testAttr": {"nestedAttr": "0"}});
    let variables = [
        ("input", input),
        ("a", json!(false)),
        ("t", json!(true)),
        ("x", json!(1)),
        ("list", json!([[1], [2]])),
        ("entries", json!({"val": {"n": 0}})),
        ("none", json!([])),
    ];
    let expected = [
        ("'Hello World!'", 0),
        ("input", 1),
        ("input['key']", 2),
        ("list[0]", 2),
        ("input['ke' + 'y']", 3),
        ("list[3-3]", 3),
        ("has(input.key)", 1),
        ("has(input.testAttr.nestedAttr)", 2),
        ("[1, 2, 3]", 10),
        ("{'a': 1, 'b': 2}", 30),
        ("none.all(i, true)", 2),
        ("none.all(i, i.all(j, true))", 2),
        ("[1, 2, 3].all(i, true)", 20),
        ("false || false", 0),
        ("a || a || a || a", 4),
        ("t && t && t && t", 4),
        ("t || a || a", 1),
        ("1 < 2", 1),
        ("1 == 2", 1),
        ("2 in [1, 2, 3]", 13),
        ("1 + 1", 1),
        ("true ? 1 : 2", 0),
        ("true ? false : 1 > 3", 0),
        ("false ? false : 1 > 3", 1),
        ("(x > 2 ? none : list).all(y, true)", 9),
        ("entries.all(k, entries[k].n < 3)", 9),
        ("size('123')", 1),
        (
            "'12345678901234567890' == '123456789012345678901234567890'",
            2,
        ),
        ("string(1)", 1),
        ("!a", 2),
    ];
    assert_costs(&variables, &expected);
}

fn assert_costs(variables: &[(&'static str, Value)], expected: &[(&str, u64)]) {
    let mut wrong = Vec::new();
    for (expression, expected) in expected {
        let cost = cost(expression, variables);
        if cost != *expected {
            wrong.push(format!("{expression} costs {cost}, not {expected}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn calls_cost_by_the_sizes_of_their_values() {
    let long = "x".repeat(500);
    let variables = [
        ("input", json!(long)),
        ("arg1", json!(long)),
        ("idc", json!("idc")),
        ("object", json!({"a": long, "list": [1, 2, 3]})),
    ];
    let expected = [
        ("input.matches('[0-9]')", 103),
        ("'123'.matches('[0-9]')", 2),
        ("input.contains(arg1)", 2502),
        (r"input.matches('\\d+a\\d+b')", 103),
        ("idc.startsWith(arg1)", 3),
        ("idc.endsWith(arg1)", 3),
        ("bytes(input)", 51),
        ("string(bytes(input))", 101),
        ("input == arg1", 52),
        ("input == 'abc'", 2),
        ("input < arg1", 52),
        ("input + arg1", 102),
        ("'ABCDEFGHIJ abcdefghij'.lowerAscii()", 3),
        (
            "'ABCDEFGHIJ abcdefghij'.upperAscii() == 'abcdefghij ABCDEFGHIJ'.upperAscii()",
            9,
        ),
        ("strings.quote('ABCDEFGHIJ abcdefghij')", 3),
        ("'abc 123 def 123'.replace('123', '456')", 3),
        ("'abc 123 def 123'.split(' ')", 3),
        ("'abc 123 def 123'.substring(5, 8)", 2),
        ("'  abc 123 def 123  '.trim()", 2),
        (
            "['aa', 'bb', 'cc', 'd', 'e', 'f', 'g', 'h', 'i', 'j'].join(' ')",
            15,
        ),
        ("'abc 123 def 123'.find('123')", 2),
        ("jsonpatch.escapeKey('abc/def~ abc/def~')", 2),
        ("url('https://kubernetes.io/')", 3),
        ("quantity('200M') == quantity('0.2G')", 3),
        (
            "quantity('50k').add(20).sub(quantity('100k')).asInteger() > 0",
            6,
        ),
        ("format.named('dns1123Subdomain').validate('my-name')", 16),
        ("format.dns1123Label().validate('my-name')", 9),
        ("sets.contains([1], [1, 1])", 23),
        ("sets.equivalent([1], [1, 1])", 25),
        ("!sets.intersects([1], [2])", 23),
        ("semver('1234.56789012345.67890123456789')", 4),
        ("isSemver('1.0.0')", 1),
        ("cidr('192.168.0.0/24').containsIP('192.168.0.1')", 5),
        // Overloads that are resolved at run time.
        ("object.a + object.a", 5),
        ("1 in object.list", 3),
        ("object.a == object.a", 54),
    ];
    assert_costs(&variables, &expected);
}

#[test]
fn sizes_of_values_exceed_the_budget_of_an_expression() {
    let mut names = Activation::default();
    names.bind("items", None, &json!(vec!["y".repeat(4000); 100]));
    let mut budget = CostBudget::runtime();
    let mut answer = |expression: &str| names.evaluate(expression, &mut budget).unwrap();
    assert_eq!(
        answer("items.all(a, items.all(b, a.size() == b.size()))"),
        Ok(EvaluationResult::Bool(true))
    );
    let error = answer("items.all(a, items.all(b, a == b))").unwrap_err();
    let error = error.to_string();
    assert!(error.ends_with("actual cost limit exceeded"), "{error}");
}

#[test]
fn deep_expressions_are_evaluated() {
    let sum = format!("a{}", " + a".repeat(200));
    assert_eq!(
        cost(&sum, &[("a", json!("z"))]),
        201 + (2..=201)
            .map(|n| (f64::from(n) * 0.1).ceil() as u64)
            .sum::<u64>()
    );
    // Within the depth of programs that are evaluated on the stack of the thread.
    let fits = format!("a{}", " + a".repeat(6));
    let small = std::thread::Builder::new().stack_size(1 << 20);
    let small = small.spawn(move || cost(&fits, &[("a", json!("z"))]));
    assert!(small.unwrap().join().unwrap() > 0);
}

struct Recorder;

impl Authorizer for Recorder {
    fn check(&self, request: &AuthorizationCheck) -> CheckDecision {
        let account = request.service_account.as_ref();
        let reason = format!(
            "{} {}{}/{}/{} {}/{} {}",
            request.verb,
            request.path,
            request.group,
            request.resource,
            request.subresource,
            request.namespace,
            request.name,
            account.map_or("", |(_, name)| name)
        );
        CheckDecision {
            is_allowed: request.verb == "get",
            reason,
        }
    }
}

#[test]
fn authorizer_checks_requests() {
    let mut names = Activation::default();
    let request = AuthorizationCheck {
        resource: "pods".into(),
        name: "p".into(),
        ..AuthorizationCheck::default()
    };
    names.bind_authorizer(Arc::new(Recorder), request);
    let answer = |expression: &str| {
        let mut budget = CostBudget::runtime();
        let answer = names.evaluate(expression, &mut budget).unwrap();
        (
            answer,
            CostBudget::runtime().remaining() - budget.remaining(),
        )
    };
    let yes = Ok(EvaluationResult::Bool(true));
    let text = |text: &str| Ok(EvaluationResult::Text(text.into()));
    let deployments = "authorizer.group('apps').resource('deployments').subresource('status')\
                       .namespace('test').name('backend')";
    assert_eq!(
        answer(&format!("{deployments}.check('get').allowed()")),
        (yes.clone(), 350_007)
    );
    assert_eq!(
        answer(&format!("{deployments}.check('create').reason()")).0,
        text("create apps/deployments/status test/backend ")
    );
    assert_eq!(
        answer("authorizer.path('/healthz').check('get').reason()"),
        (text("get /healthz// / "), 350_003)
    );
    assert_eq!(
        answer("authorizer.requestResource.check('get').allowed()"),
        (yes.clone(), 350_002)
    );
    assert_eq!(
        answer("authorizer.requestResource.name('q').check('list').reason()").0,
        text("list /pods/ /q ")
    );
    assert_eq!(
        answer(
            "authorizer.serviceAccount('ns', 'sa').group('').resource('pods').check('get').reason()"
        )
        .0,
        text("get /pods/ / sa")
    );
    assert_eq!(
        answer("!authorizer.group('').resource('pods').check('get').errored()").0,
        yes
    );
    let selector = "'spec.nodeName=example-node-name.fully.qualified.domain.name.example.com'";
    assert_eq!(
        answer(&format!(
            "authorizer.group('').resource('pods').fieldSelector({selector}).check('get').allowed()"
        )),
        (yes, 1821 + 350_001)
    );
    for (expression, error) in [
        (
            "authorizer.path(' ').check('get').allowed()",
            "path must not be empty",
        ),
        (
            "authorizer.group('').resource('').check('get').allowed()",
            "resource must not be empty",
        ),
        (
            "authorizer.serviceAccount('a', '-').path('/').check('get').allowed()",
            "Invalid service account name",
        ),
        (
            "authorizer.serviceAccount('a.b', 'c').path('/').check('get').allowed()",
            "Invalid service account namespace",
        ),
        (
            "authorizer.resource('pods').check('get').allowed()",
            "no such overload",
        ),
    ] {
        let failed = answer(expression).0.unwrap_err().to_string();
        assert!(failed.ends_with(error), "{failed}");
    }
    // Three checks are above the limit of an expression.
    let check = "authorizer.path('/a').check('get').allowed()";
    assert!(answer(&format!("{check} && {check}")).0.is_ok());
    assert!(answer(&format!("{check} && {check} && {check}")).0.is_err());
}
