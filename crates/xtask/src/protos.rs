//! Writes the wire form of built-in kinds: field numbers, names and types from the published `.proto` files.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

const TARGET: &str = "crates/control-plane/src/wire/protobuf/messages.txt.gz";

/// `xtask protos DIR…`: reads every stable `generated.proto` below the directories.
pub fn run(args: &[String]) -> anyhow::Result<()> {
    if args.is_empty() {
        bail!("usage: xtask protos DIR…  (sources of k8s.io/api and k8s.io/apimachinery)");
    }
    let mut files = Vec::new();
    for dir in args {
        collect(Path::new(dir), &mut files).with_context(|| format!("cannot read {dir}"))?;
    }
    let mut messages = BTreeMap::new();
    for file in files {
        read(&std::fs::read_to_string(&file)?, &mut messages);
    }
    let mut text = String::new();
    for (name, fields) in &messages {
        writeln!(text, "{name}")?;
        for field in fields {
            writeln!(text, " {field}")?;
        }
    }
    let mut packed = flate2::GzBuilder::new().write(Vec::new(), flate2::Compression::best());
    packed.write_all(text.as_bytes())?;
    std::fs::write(TARGET, packed.finish()?)?;
    Ok(())
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(dir)?.map(|entry| entry.map(|e| e.path())).collect::<Result<_, _>>()?;
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.ends_with("generated.proto") {
            files.push(path);
        }
    }
    Ok(())
}

/// One message per name, one line per field: `number repeated|map|one type name`.
fn read(text: &str, messages: &mut BTreeMap<String, Vec<String>>) {
    let package =
        text.lines().find_map(|line| line.strip_prefix("package ")).unwrap_or_default().trim_end_matches(';');
    // Only stable versions are served; the machinery has none in its name.
    let stable = package.ends_with(".v1") || package.starts_with("k8s.io.apimachinery.");
    if !stable {
        return;
    }
    let mut open: Option<String> = None;
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("message ") {
            let name = format!("{package}.{}", name.trim_end_matches('{').trim());
            messages.insert(name.clone(), Vec::new());
            open = Some(name);
        } else if line == "}" {
            open = None;
        } else if let (Some(message), Some(field)) = (&open, field(line, package)) {
            messages.entry(message.clone()).or_default().push(field);
        }
    }
}

fn field(line: &str, package: &str) -> Option<String> {
    let line = line.strip_suffix(';')?;
    let (left, number) = line.rsplit_once('=')?;
    let number: u32 = number.trim().parse().ok()?;
    let left = left.trim();
    let (kind, name) = left.rsplit_once(' ')?;
    let (shape, kind) = match kind.split_once(' ') {
        _ if kind.starts_with("map<") => ("map", kind.split_once(',')?.1.trim_end_matches('>').trim()),
        Some(("repeated", kind)) => ("repeated", kind),
        Some((_, kind)) => ("one", kind),
        None => ("one", kind),
    };
    let scalar =
        ["string", "bytes", "bool", "int32", "int64", "uint32", "uint64", "double", "float"].contains(&kind);
    let kind = match kind.strip_prefix('.') {
        _ if scalar => kind.to_owned(),
        Some(full) => full.to_owned(),
        None => format!("{package}.{kind}"),
    };
    Some(format!("{number} {shape} {kind} {name}"))
}
