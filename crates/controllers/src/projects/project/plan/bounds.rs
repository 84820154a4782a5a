//! What a project may use, in the words that a server keeps: one that is written otherwise would differ at each look.

use std::collections::BTreeMap;

use api::projects::Project;
use api::projects::tenancy::account_of;
use k8s_openapi::api::core::v1::{
    LimitRange, LimitRangeItem, LimitRangeSpec, ResourceQuota, ResourceQuotaSpec,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::ResourceExt;

use super::place;

/// Billionths, the smallest that Kubernetes counts.
const ONE: i128 = 1_000_000_000;
/// Suffixes by thousands, from billionths up.
const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
/// Suffixes by 1024.
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

type Amounts = BTreeMap<String, Quantity>;

/// What the namespace may use in all, if anything is said of it.
pub(super) fn quota(project: &Project, within: &str) -> Option<ResourceQuota> {
    let hard = project.spec.quota.as_ref().map(|quota| &quota.hard).filter(|hard| !hard.is_empty())?;
    Some(ResourceQuota {
        metadata: place::meta(project, within, account_of(&project.name_any())),
        spec: Some(ResourceQuotaSpec { hard: Some(plain(hard)), ..ResourceQuotaSpec::default() }),
        status: None,
    })
}

/// What each thing in the namespace may use, if anything is said of it.
pub(super) fn limits(project: &Project, within: &str) -> Option<LimitRange> {
    let limits: Vec<LimitRangeItem> = project.spec.limits.iter().map(limit).collect();
    (!limits.is_empty()).then(|| LimitRange {
        metadata: place::meta(project, within, account_of(&project.name_any())),
        spec: Some(LimitRangeSpec { limits }),
    })
}

fn limit(item: &LimitRangeItem) -> LimitRangeItem {
    let all = |amounts: &Option<Amounts>| amounts.as_ref().map(plain);
    LimitRangeItem {
        type_: item.type_.clone(),
        default: all(&item.default),
        default_request: all(&item.default_request),
        max: all(&item.max),
        min: all(&item.min),
        max_limit_request_ratio: all(&item.max_limit_request_ratio),
    }
}

fn plain(amounts: &Amounts) -> Amounts {
    let spelled = |amount: &Quantity| Quantity(canonical(&amount.0).unwrap_or_else(|| amount.0.clone()));
    amounts.iter().map(|(name, amount)| (name.clone(), spelled(amount))).collect()
}

/// An amount as the server writes it: a whole number with the largest suffix. What it would refuse stays as it is.
fn canonical(text: &str) -> Option<String> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits: i128 = format!("{whole}{part}").parse().ok()?;
    let scale = 10_i128.checked_pow(u32::try_from(part.len()).ok()?)?;
    let power = |at: usize| u32::try_from(at).ok();
    let binary = BINARY.iter().position(|known| *known == suffix).filter(|at| *at > 0);
    let factor = match binary {
        Some(at) => ONE.checked_mul(1024_i128.checked_pow(power(at)?)?)?,
        None => 1000_i128.checked_pow(power(DECIMAL.iter().position(|known| *known == suffix)?)?)?,
    };
    let scaled = digits.checked_mul(factor)?;
    let nanos = (scaled % scale == 0).then_some(scaled / scale)?;
    if binary.is_some() && nanos % ONE == 0 {
        return Some(suffixed(nanos / ONE, 1024, &BINARY));
    }
    Some(if nanos == 0 { "0".to_owned() } else { suffixed(nanos, 1000, &DECIMAL) })
}

fn suffixed(mut number: i128, base: i128, suffixes: &[&str]) -> String {
    let mut at = 0;
    while number != 0 && number % base == 0 && at + 1 < suffixes.len() {
        number /= base;
        at += 1;
    }
    format!("{number}{}", suffixes[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_written_as_the_server_keeps_them() {
        let table = [
            ("8000m", Some("8")),
            ("1000", Some("1k")),
            ("0.5", Some("500m")),
            ("1.5Gi", Some("1536Mi")),
            ("1024Mi", Some("1Gi")),
            ("512Mi", Some("512Mi")),
            ("0", Some("0")),
            ("0Gi", Some("0")),
            ("100", Some("100")),
            ("0.0000000001", None),
            ("1e3", None),
            ("lots", None),
        ];
        for (text, want) in table {
            assert_eq!(canonical(text).as_deref(), want, "{text}");
        }
    }
}
