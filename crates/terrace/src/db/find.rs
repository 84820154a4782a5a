//! Finds a claim by its name, or says which names there are.

use anyhow::anyhow;
use api::claims::{DatabaseClaim, DbRoleClaim};
use kube::api::{Api, ListParams};
use kube::{Client, Resource};
use serde::de::DeserializeOwned;

use super::Which;
use super::claim::{Claim, Kind};
use crate::apps::connect::told;

/// How many names are listed.
const LISTED: usize = 5;

/// What a name can lead to.
pub(super) enum Found {
    /// One claim.
    One(Box<Claim>),
    /// A claim of either kind: it has to be said which is meant.
    Both(String),
}

/// The claim that was named.
pub(super) async fn find(client: &Client, which: &Which) -> anyhow::Result<Found> {
    let (namespace, name) = (&which.connection.namespace, &which.name);
    let mut found = Vec::new();
    for kind in Kind::ALL.into_iter().filter(|kind| which.kind().is_none_or(|wanted| wanted == *kind)) {
        found.extend(get(client, kind, namespace, name).await?);
    }
    match (found.pop(), found.is_empty()) {
        (Some(one), true) => Ok(Found::One(Box::new(one))),
        (Some(_), false) => Ok(Found::Both(format!(
            "there are a DatabaseClaim and a DbRoleClaim {name} in namespace {namespace}; `--role` means the \
             DbRoleClaim, `--claim` the DatabaseClaim"
        ))),
        (None, _) => Err(missing(client, which).await),
    }
}

/// The claim of a kind, if there is one. A role is told with the database that it is in, where that can be seen.
pub(super) async fn get(
    client: &Client,
    kind: Kind,
    namespace: &str,
    name: &str,
) -> anyhow::Result<Option<Claim>> {
    let found = match kind {
        Kind::Database => one::<DatabaseClaim>(client, namespace, name).await?,
        Kind::Role => one::<DbRoleClaim>(client, namespace, name).await?,
    };
    let Some(mut claim) = found else { return Ok(None) };
    let source = claim.source.as_deref().and_then(|source| source.split_once('/'));
    if let Some((place, source)) = source
        && let Ok(Some(source)) = one::<DatabaseClaim>(client, place, source).await
    {
        claim.found_in(&source);
    }
    Ok(Some(claim))
}

async fn one<K>(client: &Client, namespace: &str, name: &str) -> anyhow::Result<Option<Claim>>
where
    K: Resource<Scope = kube::core::NamespaceResourceScope> + Clone + DeserializeOwned + std::fmt::Debug,
    K::DynamicType: Default,
    Claim: From<K>,
{
    let api: Api<K> = Api::namespaced(client.clone(), namespace);
    Ok(api.get_opt(name).await.map_err(told)?.map(Claim::from))
}

/// All claims of both kinds, by namespace and name.
pub(super) async fn all(client: &Client, namespace: Option<&str>) -> anyhow::Result<Vec<Claim>> {
    let mut all = every::<DatabaseClaim>(client, namespace).await?;
    let mut roles = every::<DbRoleClaim>(client, namespace).await?;
    for role in &mut roles {
        if let Some(source) = all.iter().find(|claim| claim.is_source_of(role)) {
            role.found_in(source);
        }
    }
    all.extend(roles);
    all.sort_by(|one, other| (&one.namespace, &one.name).cmp(&(&other.namespace, &other.name)));
    Ok(all)
}

async fn every<K>(client: &Client, namespace: Option<&str>) -> anyhow::Result<Vec<Claim>>
where
    K: Resource<Scope = kube::core::NamespaceResourceScope> + Clone + DeserializeOwned + std::fmt::Debug,
    K::DynamicType: Default,
    Claim: From<K>,
{
    let api: Api<K> = match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    };
    let found = api.list(&ListParams::default()).await.map_err(told)?.items;
    Ok(found.into_iter().map(Claim::from).collect())
}

/// What is said of a claim that is not there.
async fn missing(client: &Client, which: &Which) -> anyhow::Error {
    let (namespace, name) = (&which.connection.namespace, &which.name);
    // Who may not list is told no names.
    let there = all(client, Some(namespace)).await.unwrap_or_default();
    let there = there.iter().filter(|claim| which.kind().is_none_or(|wanted| wanted == claim.kind));
    let names = nearest(name, there.map(|claim| claim.name.clone()).collect());
    let what = match which.kind() {
        Some(Kind::Database) => "DatabaseClaim",
        Some(Kind::Role) => "DbRoleClaim",
        None => "claim",
    };
    match names.as_slice() {
        [] => anyhow!("there is no {what} {name} in namespace {namespace}; `terrace db list -A` lists all"),
        names => {
            anyhow!("there is no {what} {name} in namespace {namespace}; there are: {}", names.join(", "))
        }
    }
}

/// The names that are most like one, the most alike first.
pub(super) fn nearest(name: &str, mut names: Vec<String>) -> Vec<String> {
    names.sort_by_key(|other| (distance(name, other), other.clone()));
    names.dedup();
    names.truncate(LISTED);
    names
}

/// How many letters have to be put in, taken out or changed to make one word of another.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (number, letter) in one.chars().enumerate() {
        let mut corner = row[0];
        row[0] = number + 1;
        for (column, same) in other.iter().map(|wanted| *wanted == letter).enumerate() {
            let changed = corner + usize::from(!same);
            corner = row[column + 1];
            row[column + 1] = changed.min(corner + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}
