//! One rule of a role: what it allows, and what it covers of another rule.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Attributes, combined};

/// A rule of a Role or ClusterRole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rule {
    pub verbs: Vec<String>,
    pub groups: Vec<String>,
    pub resources: Vec<String>,
    pub names: Vec<String>,
    pub urls: Vec<String>,
}

impl Rule {
    pub fn read(rule: &Value) -> Self {
        let list = |field: &str| {
            let items = rule[field].as_array().into_iter().flatten();
            items.filter_map(|item| item.as_str().map(str::to_owned)).collect()
        };
        Self {
            verbs: list("verbs"),
            groups: list("apiGroups"),
            resources: list("resources"),
            names: list("resourceNames"),
            urls: list("nonResourceURLs"),
        }
    }

    /// Rules of a role object; none where the field is missing.
    pub fn read_all(rules: &Value) -> Vec<Self> {
        rules.as_array().into_iter().flatten().map(Self::read).collect()
    }

    /// Everything there is.
    pub fn all() -> [Self; 2] {
        let star = || vec!["*".to_owned()];
        let resources = Self { verbs: star(), groups: star(), resources: star(), ..Self::default() };
        [resources, Self { verbs: star(), urls: star(), ..Self::default() }]
    }

    pub fn allows(&self, attrs: &Attributes<'_>) -> bool {
        if !has_or_star(&self.verbs, attrs.verb) {
            return false;
        }
        if let Some(path) = attrs.path {
            return self.urls.iter().any(|url| url_covers(url, path));
        }
        has_or_star(&self.groups, attrs.group)
            && resource_covers(&self.resources, &combined(attrs.resource, attrs.subresource))
            && (self.names.is_empty() || has(&self.names, attrs.name))
    }

    /// The rules of one verb on one thing that this rule is the sum of.
    fn pieces(&self) -> Vec<Self> {
        let mut pieces = Vec::new();
        for verb in &self.verbs {
            for group in &self.groups {
                for resource in &self.resources {
                    let piece = Self {
                        verbs: vec![verb.clone()],
                        groups: vec![group.clone()],
                        resources: vec![resource.clone()],
                        ..Self::default()
                    };
                    let named =
                        self.names.iter().map(|name| Self { names: vec![name.clone()], ..piece.clone() });
                    pieces.extend(named);
                    if self.names.is_empty() {
                        pieces.push(piece);
                    }
                }
            }
            for url in &self.urls {
                pieces.push(Self { verbs: vec![verb.clone()], urls: vec![url.clone()], ..Self::default() });
            }
        }
        pieces
    }

    fn covers(&self, piece: &Self) -> bool {
        let names = match piece.names.is_empty() {
            true => self.names.is_empty(),
            false => self.names.is_empty() || piece.names.iter().all(|name| has(&self.names, name)),
        };
        names
            && piece.verbs.iter().all(|verb| has_or_star(&self.verbs, verb))
            && piece.groups.iter().all(|group| has_or_star(&self.groups, group))
            && piece.resources.iter().all(|resource| resource_covers(&self.resources, resource))
            && piece.urls.iter().all(|url| self.urls.iter().any(|own| url_covers(own, url)))
    }

    /// `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`.
    fn told(&self) -> String {
        let fields = [
            ("APIGroups", &self.groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.urls),
            ("ResourceNames", &self.names),
            ("Verbs", &self.verbs),
        ];
        let given = fields.into_iter().filter(|(_, list)| !list.is_empty());
        let parts: Vec<String> = given.map(|(name, list)| format!("{name}:{}", quoted(list))).collect();
        format!("{{{}}}", parts.join(", "))
    }

    /// The entries of a rules review: for resources, and for paths.
    pub fn reviewed(&self) -> (Option<Value>, Option<Value>) {
        let resources = (!self.resources.is_empty()).then(|| {
            let mut rule =
                json!({"verbs": self.verbs, "apiGroups": self.groups, "resources": self.resources});
            if !self.names.is_empty() {
                rule["resourceNames"] = json!(self.names);
            }
            rule
        });
        let paths =
            (!self.urls.is_empty()).then(|| json!({"verbs": self.verbs, "nonResourceURLs": self.urls}));
        (resources, paths)
    }
}

/// Lines that tell which parts of `wanted` nobody of `owned` covers; empty when all are covered.
pub(super) fn missing(owned: &[Rule], wanted: &[Rule]) -> BTreeSet<String> {
    let mut lacking: Vec<Rule> = Vec::new();
    for piece in wanted.iter().flat_map(Rule::pieces) {
        if owned.iter().any(|rule| rule.covers(&piece)) {
            continue;
        }
        // Verbs on the same thing are told in one line.
        let twin = lacking.iter_mut().find(|known| {
            piece.urls.is_empty()
                && (&known.groups, &known.resources, &known.names, &known.urls)
                    == (&piece.groups, &piece.resources, &piece.names, &piece.urls)
        });
        match twin {
            Some(known) => known.verbs.extend(piece.verbs),
            None => lacking.push(piece),
        }
    }
    lacking.iter().map(Rule::told).collect()
}

/// `["a" "b"]`.
pub(super) fn quoted(list: &[String]) -> String {
    let words: Vec<String> = list.iter().map(|word| format!("{word:?}")).collect();
    format!("[{}]", words.join(" "))
}

fn has(list: &[String], word: &str) -> bool {
    list.iter().any(|item| item == word)
}

fn has_or_star(list: &[String], word: &str) -> bool {
    list.iter().any(|item| item == "*" || item == word)
}

/// `*` covers all, `pods/log` itself, `*/scale` the subresource of every resource.
fn resource_covers(list: &[String], resource: &str) -> bool {
    let subresource = resource.split_once('/').map(|(_, subresource)| subresource);
    list.iter().any(|item| {
        item == "*"
            || item == resource
            || subresource.is_some_and(|wanted| item.strip_prefix("*/").is_some_and(|own| own == wanted))
    })
}

fn url_covers(url: &str, path: &str) -> bool {
    url == path || (url.ends_with('*') && path.starts_with(url.trim_end_matches('*')))
}
