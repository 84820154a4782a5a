//! Rules, which S3 keeps as one document per list: the spec's wins as a whole.

use std::collections::{BTreeMap, BTreeSet};

use api::drift::Drift;
use api::infra::{CorsRule, LifecycleRule, RuleList, S3BucketSpec};
use ports::aws::{Bucket, LiveRule};
use serde_json::json;

use super::Change;
use crate::infra::course::{Mend, field};

/// Rules that the spec never had are left alone; those that it had and has no more are taken off.
pub(super) fn lifecycle(live: &Bucket, spec: &S3BucketSpec, held: &[RuleList]) -> Option<Mend<Change>> {
    let wanted = &spec.lifecycle_rules;
    if wanted.is_empty() && !held.contains(&RuleList::LifecycleRules) {
        return None;
    }
    let there: BTreeMap<&str, &LiveRule> =
        live.lifecycle_rules.iter().map(|live| (live.rule.id.as_str(), live)).collect();
    let mut fields = Vec::new();
    for rule in wanted {
        let path = format!("lifecycleRules[{}]", rule.id);
        match there.get(rule.id.as_str()) {
            None => fields.push(field(&path, json!(rule), "")),
            Some(live) => fields.extend(rule_fields(&path, rule, live)),
        }
    }
    let strange = |id: &&str| !wanted.iter().any(|rule| rule.id == **id);
    for (id, live) in there.iter().filter(|(id, _)| strange(id)) {
        fields.push(field(&format!("lifecycleRules[{id}]"), "", json!(live.rule)));
    }
    (!fields.is_empty()).then(|| Mend { fields, call: Change::Lifecycle(wanted.clone()) })
}

fn rule_fields(path: &str, wanted: &LifecycleRule, live: &LiveRule) -> Vec<Drift> {
    let LifecycleRule { id: _, enabled, prefix, expiration, transitions } = wanted;
    let mut fields = Vec::new();
    let mut compare = |name: &str, expected: String, actual: String| {
        if expected != actual {
            fields.push(field(&format!("{path}.{name}"), expected, actual));
        }
    };
    compare("enabled", enabled.to_string(), live.rule.enabled.to_string());
    let all = |prefix: &Option<String>| prefix.clone().unwrap_or_default();
    compare("prefix", all(prefix), all(&live.rule.prefix));
    let days = |expiration: Option<i32>| expiration.map_or_else(String::new, |days| days.to_string());
    let end =
        |expiration: &Option<api::infra::LifecycleExpiration>| days(expiration.as_ref().map(|end| end.days));
    compare("expiration.days", end(expiration), end(&live.rule.expiration));
    let moves = |rule: &[api::infra::LifecycleTransition]| -> BTreeMap<&'static str, i32> {
        rule.iter().map(|transition| (transition.storage_class.as_str(), transition.days)).collect()
    };
    let (expected, actual) = (moves(transitions), moves(&live.rule.transitions));
    let classes: BTreeSet<&str> = expected.keys().chain(actual.keys()).copied().collect();
    for class in classes {
        let of = |moves: &BTreeMap<&'static str, i32>| days(moves.get(class).copied());
        compare(&format!("transitions[{class}].days"), of(&expected), of(&actual));
    }
    for part in &live.beyond {
        compare(part, String::new(), "set".to_owned());
    }
    fields
}

/// S3 takes the first rule that fits, so their order counts; that of the words in a rule does not.
pub(super) fn cors(live: &Bucket, spec: &S3BucketSpec, held: &[RuleList]) -> Option<Mend<Change>> {
    let wanted = &spec.cors_rules;
    if wanted.is_empty() && !held.contains(&RuleList::CorsRules) {
        return None;
    }
    let mut fields = Vec::new();
    for index in 0..wanted.len().max(live.cors_rules.len()) {
        let path = format!("corsRules[{index}]");
        match (wanted.get(index), live.cors_rules.get(index)) {
            (Some(wanted), Some(live)) => fields.extend(cors_fields(&path, wanted, live)),
            (Some(wanted), None) => fields.push(field(&path, json!(wanted), "")),
            (None, Some(live)) => fields.push(field(&path, "", json!(live))),
            (None, None) => {}
        }
    }
    (!fields.is_empty()).then(|| Mend { fields, call: Change::Cors(wanted.clone()) })
}

fn cors_fields(path: &str, wanted: &CorsRule, live: &CorsRule) -> Vec<Drift> {
    let words = |rule: &CorsRule| -> [(&'static str, String); 5] {
        let CorsRule { allowed_origins, allowed_methods, allowed_headers, expose_headers, max_age_seconds } =
            rule;
        let set = |list: &[String]| list.iter().cloned().collect::<BTreeSet<_>>();
        let joined = |list: &[String]| set(list).into_iter().collect::<Vec<_>>().join(", ");
        let methods: Vec<String> = allowed_methods.iter().map(|method| method.as_str().to_owned()).collect();
        [
            ("allowedOrigins", joined(allowed_origins)),
            ("allowedMethods", joined(&methods)),
            ("allowedHeaders", joined(allowed_headers)),
            ("exposeHeaders", joined(expose_headers)),
            ("maxAgeSeconds", max_age_seconds.map_or_else(String::new, |seconds| seconds.to_string())),
        ]
    };
    let both = words(wanted).into_iter().zip(words(live));
    both.filter(|((_, expected), (_, actual))| expected != actual)
        .map(|((name, expected), (_, actual))| field(&format!("{path}.{name}"), expected, actual))
        .collect()
}
