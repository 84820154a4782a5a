use super::*;

#[test]
fn generation_is_deterministic() {
    assert_eq!(wanted().expect("definitions are JSON"), wanted().expect("definitions are JSON"));
}

#[test]
fn every_file_reads_back_as_its_definition() {
    let definitions = api::crds().into_iter().chain(api::foreign_crds());
    let definitions: BTreeMap<String, serde_json::Value> = definitions
        .map(|crd| {
            let name = format!("{}.{}.yaml", crd.spec.names.plural, crd.spec.group);
            (name, rounded(serde_json::to_value(crd).expect("a definition is JSON")))
        })
        .collect();
    for (path, text) in wanted().expect("definitions are JSON") {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a file has a name");
        let read: serde_json::Value = serde_saphyr::from_str(&text).expect("the file is YAML");
        assert_eq!(rounded(read), definitions[name], "{name}");
    }
}

/// `1.0` and `1` are the same bound.
fn rounded(value: serde_json::Value) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::Number(number) => number.as_f64().map_or(Value::Null, Value::from),
        Value::Array(items) => items.into_iter().map(rounded).collect(),
        Value::Object(fields) => fields.into_iter().map(|(key, value)| (key, rounded(value))).collect(),
        other => other,
    }
}

#[test]
fn a_missing_a_changed_and_a_leftover_file_are_stale() {
    let folder = std::env::temp_dir().join(format!("xtask-generate-{}", std::process::id()));
    let wanted = BTreeMap::from([
        (PathBuf::from("same.yaml"), "a: 1\n".to_owned()),
        (PathBuf::from("changed.yaml"), "a: 2\n".to_owned()),
        (PathBuf::from("foreign/missing.yaml"), "a: 3\n".to_owned()),
    ]);
    fs::create_dir_all(&folder).expect("a temporary folder can be made");
    for (name, text) in [("same.yaml", "a: 1\n"), ("changed.yaml", "a: 1\n"), ("leftover.yaml", "a: 1\n")] {
        fs::write(folder.join(name), text).expect("a temporary file can be written");
    }
    let found = stale(&folder, &wanted).expect("the folder can be read");
    let want = ["changed.yaml", "foreign/missing.yaml", "leftover.yaml"].map(PathBuf::from);
    assert_eq!(found, BTreeSet::from(want));
    write(&folder, &wanted, &found).expect("the folder can be written");
    assert_eq!(stale(&folder, &wanted).expect("the folder can be read"), BTreeSet::new());
    fs::remove_dir_all(&folder).expect("the temporary folder can be removed");
}
