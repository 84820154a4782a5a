use super::*;

/// Asks one rule at `spec`.
fn asked(rule: Value, value: Value, old: Option<Value>) -> Vec<String> {
    let schema = object(json!({ "spec": {
        "type": "object",
        "properties": {
            "n": { "type": "integer" }, "m": { "type": "integer" }, "d": { "type": "number" }, "s": { "type": "string" },
            "b": { "type": "boolean" }, "list": { "type": "array", "items": { "type": "integer" } },
            "names": { "type": "array", "items": { "type": "string" } },
            "objects": { "type": "array", "items": object(json!({ "k": { "type": "string" }, "v": { "type": "integer" } })) },
            "map": { "type": "object", "additionalProperties": { "type": "string" } },
            "port": { "x-kubernetes-int-or-string": true },
            "namespace": { "type": "string" }, "my-field": { "type": "string" }, "my_field": { "type": "string" }, "a__b": { "type": "string" },
            "time": { "type": "string", "format": "date-time" }, "wait": { "type": "string", "format": "duration" },
            "bytes": { "type": "string", "format": "byte" }, "maybe": { "type": "string", "nullable": true },
        },
        "x-kubernetes-validations": [rule],
    } }));
    let rules =
        Rules::compile(&schema).unwrap_or_else(|causes| panic!("{causes:?}")).expect("there is a rule");
    let old = old.map(|old| json!({ "spec": old }));
    told(&rules.check(&json!({ "spec": value }), old.as_ref()))
}

fn sample() -> Value {
    json!({
        "n": 5, "m": 2, "d": 1.5, "s": "hello", "b": true, "list": [3, 1, 2], "names": ["a", "b"],
        "objects": [{ "k": "x", "v": 1 }, { "k": "y", "v": 2 }], "map": { "app.io/a": "1", "z": "2" }, "port": "http",
        "namespace": "ns", "my-field": "dash", "my_field": "under", "a__b": "two", "time": "2026-01-02T03:04:05Z",
        "wait": "90s", "bytes": "aGVsbG8=", "maybe": null, "undeclared": 1,
    })
}

#[test]
fn expressions_mean_what_they_mean_in_kubernetes() {
    let table = [
        "self.n == 5 && self.m < self.n",
        "self.n + self.m == 7 && self.n - self.m == 3 && self.n * self.m == 10",
        "self.n / self.m == 2 && self.n % self.m == 1",
        "-self.n == -5",
        "self.d > 1.0 && self.d < 2.0",
        "self.n > 10 || self.b",
        "!(self.n > 10)",
        "self.b ? self.n == 5 : false",
        "self.s.size() == 5 && size(self.list) == 3 && self.map.size() == 2",
        "self.s + '!' == 'hello!'",
        "self.s.contains('ell') && self.s.startsWith('he') && self.s.endsWith('lo')",
        "self.s.matches('^h[a-z]+o$')",
        "matches(self.s, 'l{2}')",
        "has(self.n) && !has(self.objects[0].k) == false",
        "has(self.maybe) && self.maybe == null",
        "self.list.all(x, x > 0)",
        "self.list.exists(x, x == 2)",
        "self.list.exists_one(x, x == 2)",
        "self.list.map(x, x * 2) == [6, 2, 4]",
        "self.list.map(x, x > 1, x * 2) == [6, 4]",
        "self.list.filter(x, x > 1) == [3, 2]",
        "self.objects.all(o, o.v > 0 && o.k != '')",
        "self.objects.map(o, o.k) == ['x', 'y']",
        "self.objects[1].v == 2",
        "2 in self.list && !(9 in self.list)",
        "'z' in self.map && self.map['app.io/a'] == '1' && self.map.z == '2'",
        "self.map.all(k, k.size() > 0)",
        "self.list + [4] == [3, 1, 2, 4]",
        "type(self.port) == string && type(self.n) == int",
        "type(self.port) == string ? self.port == 'http' : self.port > 0",
        "self.__namespace__ == 'ns'",
        "self.my__dash__field == 'dash'",
        "self.my_field == 'under'",
        "self.a__underscores__b == 'two'",
        "self.time < timestamp('2027-01-01T00:00:00Z') && self.time.getFullYear() == 2026",
        "self.wait == duration('1m30s')",
        "self.time + self.wait > self.time",
        "self.bytes == b'hello' && self.bytes.size() == 5",
        "string(self.n) == '5' && int('7') == 7 && double('1.5') == self.d",
        "dyn(self.n) == 5.0",
        "self.s.upperAscii() == 'HELLO' && self.s.replace('l', 'L') == 'heLLo' && self.s.substring(1, 3) == 'el'",
        "'a,b'.split(',') == self.names && self.names.join('-') == 'a-b' && self.s.indexOf('l') == 2 && ' x '.trim() == 'x'",
        "'%s-%d'.format([self.s, self.n]) == 'hello-5'",
        "self.s.find('h[a-e]+') == 'he' && 'a1b2'.findAll('[0-9]') == ['1', '2']",
        "self.list.sum() == 6 && self.list.max() == 3 && self.list.min() == 1 && !self.list.isSorted()",
        "sets.contains(self.list, [1, 2]) && sets.intersects(self.list, [9, 1])",
        "math.greatest(1, 2, 3) == 3",
        "quantity('1Gi').isGreaterThan(quantity('500Mi')) && isQuantity('1k')",
        "isURL('https://a.b/c') && url('https://a.b:1/c').getPort() == '1'",
        "ip('10.0.0.1').family() == 4 && cidr('10.0.0.0/8').containsIP('10.1.2.3') && isIP('::1')",
        "semver('1.2.3').isLessThan(semver('2.0.0'))",
        "base64.encode(b'hello') == 'aGVsbG8='",
        "cel.bind(x, self.n * 2, x == 10)",
        "self.list.all(i, v, i < 3 && v > 0)",
        "self.map.exists(k, v, k == 'z' && v == '2')",
        "self.list.transformList(i, v, v * 10) == [30, 10, 20]",
        "self.map.transformMap(k, v, k == 'z', v + '!') == {'z': '2!'}",
        "self.list.sortBy(x, -x) == [3, 2, 1]",
        "self.objects.sortBy(o, -o.v)[0].k == 'y'",
        "self.?n.orValue(0) == 5 && self.map[?'no'].orValue('d') == 'd' && !self.map[?'no'].hasValue()",
        "optional.of(self.n).optMap(x, x + 1).value() == 6 && optional.none().or(optional.of(1)).value() == 1",
        "self.list.exists(x, 1 / (x - 1) > 0)",
        "!self.list.all(x, 1 / (x - 1) > 0)",
        "true || 1 / 0 == 1",
        "!(false && 1 / 0 == 1)",
        "[1, 2, 3].exists(x, [4, 5].all(y, y > x))",
        "{'a': 1}.a == 1 && {'a': 1, 'b': 2}.size() == 2",
        "1 < 1.5 && dyn(1) == 1.0",
        "'a' < 'b'",
        "self.list.map(x, {'v': x}).all(o, o.v > 0)",
    ];
    let wrong: Vec<_> =
        table.iter().flat_map(|rule| asked(json!({ "rule": rule }), sample(), None)).collect();
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn a_failure_is_told_as_kubernetes_tells_it() {
    let row = |rule: Value| asked(rule, sample(), None);
    let table = [
        ("no message", json!({ "rule": "self.n > 5" }), "spec: Invalid value: failed rule: self.n > 5"),
        (
            "message",
            json!({ "rule": "self.n > 5", "message": " too small " }),
            "spec: Invalid value: too small",
        ),
        (
            "message expression",
            json!({ "rule": "self.n > 5", "messageExpression": "'n is ' + string(self.n)" }),
            "spec: Invalid value: n is 5",
        ),
        (
            "a message expression that fails falls back",
            json!({ "rule": "self.n > 5", "message": "m", "messageExpression": "self.names[9]" }),
            "spec: Invalid value: m",
        ),
        (
            "field path",
            json!({ "rule": "self.n > 5", "message": "m", "fieldPath": ".n" }),
            "spec.n: Invalid value: m",
        ),
        (
            "field path into a map",
            json!({ "rule": "self.n > 5", "message": "m", "fieldPath": ".map['a.b']" }),
            "spec.map[a.b]: Invalid value: m",
        ),
        (
            "forbidden",
            json!({ "rule": "self.n > 5", "message": "m", "reason": "FieldValueForbidden" }),
            "spec: Forbidden: m",
        ),
        (
            "required",
            json!({ "rule": "self.n > 5", "message": "m", "reason": "FieldValueRequired" }),
            "spec: Required value: m",
        ),
        (
            "duplicate",
            json!({ "rule": "self.n > 5", "message": "m", "reason": "FieldValueDuplicate" }),
            "spec: Duplicate value",
        ),
        (
            "missing key",
            json!({ "rule": "self.map['no'] == ''" }),
            "spec: Invalid value: \"object\": no such key: no evaluating rule: self.map['no'] == ''",
        ),
        (
            "missing element",
            json!({ "rule": "self.list[7] == 1" }),
            "spec: Invalid value: \"object\": index out of bounds: 7 evaluating rule: self.list[7] == 1",
        ),
        (
            "division by zero",
            json!({ "rule": "1 / (self.n - 5) == 1", "message": "m" }),
            "spec: Invalid value: \"object\": division by zero evaluating rule: m",
        ),
        (
            "modulus by zero",
            json!({ "rule": "1 % (self.n - 5) == 1" }),
            "spec: Invalid value: \"object\": modulus by zero evaluating rule: 1 % (self.n - 5) == 1",
        ),
        (
            "overflow",
            json!({ "rule": "9223372036854775807 + self.n > 0" }),
            "spec: Invalid value: \"object\": integer overflow evaluating rule: 9223372036854775807 + self.n > 0",
        ),
        (
            "types known too late",
            json!({ "rule": "self.port > 1" }),
            "spec: Invalid value: \"object\": 'no such overload': call arguments did not match a supported operator, function or macro signature for rule: self.port > 1",
        ),
    ];
    for (name, rule, want) in table {
        assert_eq!(row(rule), [want], "{name}");
    }
}

#[test]
fn scalars_show_their_value_and_lists_their_place() {
    let schema = object(json!({
        "n": { "type": "integer", "x-kubernetes-validations": [{ "rule": "self > 5", "message": "m" }] },
        "l": { "type": "array", "items": { "type": "string", "x-kubernetes-validations": [{ "rule": "self.size() > 1", "message": "m" }] } },
        "o": { "type": "object", "additionalProperties": { "type": "string", "x-kubernetes-validations": [{ "rule": "self != ''", "message": "m" }] } },
    }));
    let rules = Rules::compile(&schema).expect("they compile").expect("there are rules");
    let value = json!({ "n": 1, "l": ["ab", "c"], "o": { "k": "" } });
    assert_eq!(
        told(&rules.check(&value, None)),
        ["l[1]: Invalid value: \"c\": m", "n: Invalid value: 1: m", "o[k]: Invalid value: \"\": m"]
    );
}

#[test]
fn the_root_sees_its_name_and_type() {
    let mut schema = object(json!({ "spec": object(json!({})) }));
    schema["x-kubernetes-validations"] = json!([
        { "rule": "self.metadata.name.startsWith('a')", "message": "named" },
        { "rule": "self.kind == 'Widget' && self.apiVersion == 'demo.io/v1'", "message": "typed" },
    ]);
    let rules = Rules::compile(&schema).expect("they compile").expect("there are rules");
    let value =
        json!({ "apiVersion": "demo.io/v1", "kind": "Widget", "metadata": { "name": "b", "labels": {} } });
    assert_eq!(told(&rules.check(&value, None)), ["<nil>: Invalid value: named"]);
    schema["x-kubernetes-validations"] = json!([{ "rule": "self.metadata.labels.size() > 0" }]);
    assert!(Rules::compile(&schema).is_err());
}

#[test]
fn rules_about_a_change_compare_with_what_was() {
    let keep = json!({ "rule": "self.n >= oldSelf.n", "message": "n never shrinks" });
    assert_eq!(asked(keep.clone(), json!({ "n": 1 }), None), Vec::<String>::new());
    assert_eq!(asked(keep.clone(), json!({ "n": 2 }), Some(json!({ "n": 1 }))), Vec::<String>::new());
    assert_eq!(
        asked(keep, json!({ "n": 1 }), Some(json!({ "n": 2 }))),
        ["spec: Invalid value: n never shrinks"]
    );
    let optional = json!({ "rule": "oldSelf.hasValue() || self.n == 0", "optionalOldSelf": true, "message": "starts at 0" });
    assert_eq!(asked(optional.clone(), json!({ "n": 1 }), None), ["spec: Invalid value: starts at 0"]);
    assert_eq!(asked(optional, json!({ "n": 1 }), Some(json!({ "n": 7 }))), Vec::<String>::new());
    let chained = json!({ "rule": "oldSelf.?n.orValue(0) <= self.n", "optionalOldSelf": true });
    assert_eq!(asked(chained, json!({ "n": 1 }), Some(json!({ "n": 1 }))), Vec::<String>::new());
}

#[test]
fn elements_of_map_lists_remember_themselves() {
    let schema = object(
        json!({ "l": { "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
        "items": { "type": "object", "properties": { "k": { "type": "string" }, "v": { "type": "integer" } },
            "x-kubernetes-validations": [{ "rule": "self.v >= oldSelf.v", "message": "m" }] } } }),
    );
    let rules = Rules::compile(&schema).expect("they compile").expect("there are rules");
    let old = json!({ "l": [{ "k": "a", "v": 5 }, { "k": "b", "v": 1 }] });
    let new = json!({ "l": [{ "k": "b", "v": 2 }, { "k": "c", "v": 0 }, { "k": "a", "v": 4 }] });
    assert_eq!(told(&rules.check(&new, Some(&old))), ["l[2]: Invalid value: m"]);
}

#[test]
fn a_rule_is_not_held_against_what_did_not_change() {
    let rule = json!({ "rule": "self.n > 5", "message": "m" });
    assert_eq!(asked(rule.clone(), json!({ "n": 1 }), Some(json!({ "n": 1 }))), Vec::<String>::new());
    assert_eq!(asked(rule, json!({ "n": 2 }), Some(json!({ "n": 1 }))), ["spec: Invalid value: m"]);
}

#[test]
fn a_hostile_rule_ends() {
    let long: Vec<i64> = (0..2000).collect();
    let loops = "self.list.all(a, self.list.all(b, self.list.all(c, a + b + c >= 0)))";
    let got = asked(json!({ "rule": loops }), json!({ "list": long }), None);
    assert_eq!(
        got,
        [format!(
            "spec: Invalid value: \"object\": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: {loops}"
        )]
    );
    let doubled = format!("[self.s]{}.size() == 1", ".map(x, x + x)".repeat(40));
    let got = asked(json!({ "rule": doubled }), json!({ "s": "0123456789" }), None);
    assert!(got[0].contains("actual cost limit exceeded"), "{got:?}");
}

#[test]
fn all_rules_of_an_object_share_a_budget() {
    let rule = json!({ "rule": "self.all(a, self.all(b, a + b >= 0))" });
    let schema =
        object(json!({ "l": { "type": "array", "items": { "type": "array", "items": { "type": "integer" },
        "x-kubernetes-validations": [rule] } } }));
    let rules = Rules::compile(&schema).expect("they compile").expect("there are rules");
    let row: Vec<i64> = (0..250).collect();
    let value = json!({ "l": vec![row; 100] });
    let got = told(&rules.check(&value, None));
    assert_eq!(got.len(), 1);
    assert!(got[0].contains("running out of cost budget"), "{got:?}");
}

#[test]
fn rules_that_nest_or_chain_without_end_are_refused() {
    let nested = format!("{}true{}", "(".repeat(3000), ")".repeat(3000));
    let chained = format!("{}0 == 0", "1 + ".repeat(3000));
    let endless = "self.n == 1 || ".repeat(2000) + "true";
    for rule in [nested, chained, endless] {
        let schema = object(json!({ "n": { "type": "integer" } }));
        let mut schema = schema;
        schema["x-kubernetes-validations"] = json!([{ "rule": rule }]);
        let causes = Rules::compile(&schema).expect_err("too deep, or too long");
        assert_eq!(causes.len(), 1);
    }
}

#[test]
fn the_deepest_rule_that_is_accepted_can_be_asked() {
    let sum = format!("{}0 == 190", "1 + ".repeat(190));
    let turned = format!("{}true{}", "!(".repeat(40), ")".repeat(40));
    for rule in [sum, turned] {
        assert_eq!(asked(json!({ "rule": rule }), json!({ "n": 1 }), None), Vec::<String>::new());
    }
}

#[test]
fn rules_travel_between_threads() {
    fn travels<T: Send + Sync>() {}
    travels::<Rules>();
}
