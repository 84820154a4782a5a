//! Which packages a server needs to run: itself, its client programs, and the libraries of both. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::apt::Offer;

/// Of everything that an empty machine would install, what the programs of PostgreSQL need to run. What packages need
/// only to be installed, such as Perl and debconf, is left out.
pub(super) fn needed(everything: &[Offer], descriptions: &str, roots: &[String]) -> Vec<Offer> {
    let packages = read(descriptions);
    let provider = |name: &str| match packages.contains_key(name) {
        true => Some(name.to_owned()),
        false => {
            packages.iter().find(|(_, package)| package.provides.contains(name)).map(|(name, _)| name.clone())
        }
    };
    let mut needed: BTreeSet<String> = BTreeSet::new();
    let mut waiting: Vec<String> = roots.to_vec();
    while let Some(name) = waiting.pop() {
        let Some(package) = packages.get(&name).filter(|_| needed.insert(name.clone())) else { continue };
        for alternatives in &package.depends {
            let chosen = alternatives.iter().find_map(|name| provider(name));
            waiting.extend(chosen.filter(|name| is_library(name) || roots.contains(name)));
        }
    }
    everything.iter().filter(|offer| needed.contains(&offer.package)).cloned().collect()
}

/// Whether a package holds a shared library, by the rules for their names (Debian Policy, 8.1). zlib is older than they are.
fn is_library(package: &str) -> bool {
    (package.starts_with("lib") && !package.ends_with("-perl")) || package == "zlib1g"
}

/// What a package says of itself, as far as it matters here.
#[derive(Default)]
struct Package {
    /// Each is met by any of its alternatives.
    depends: Vec<Vec<String>>,
    provides: BTreeSet<String>,
}

fn read(descriptions: &str) -> BTreeMap<String, Package> {
    let mut packages = BTreeMap::new();
    for paragraph in descriptions.split("\n\n") {
        let field = |name: &str| {
            let value = |line: &'_ str| line.strip_prefix(name)?.strip_prefix(": ").map(str::to_owned);
            paragraph.lines().find_map(value).unwrap_or_default()
        };
        let name = field("Package");
        if name.is_empty() {
            continue;
        }
        let mut depends = relations(&field("Pre-Depends"));
        depends.extend(relations(&field("Depends")));
        let provides = relations(&field("Provides")).into_iter().flatten().collect();
        packages.insert(name, Package { depends, provides });
    }
    packages
}

/// `a (>= 1) | b, c:any` as lists of names.
fn relations(field: &str) -> Vec<Vec<String>> {
    let name = |word: &str| {
        let end = word.find(|c: char| c.is_whitespace() || c == '(' || c == ':').unwrap_or(word.len());
        word[..end].to_owned()
    };
    let group = |group: &str| group.split('|').map(|word| name(word.trim())).collect();
    field.split(',').map(str::trim).filter(|group| !group.is_empty()).map(group).collect()
}
