//! The versions of an application that the platform still knows.

use api::annotations::{APPLICATION, SOURCE};
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::ReplicaSet;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};

use super::source::Source;
use crate::Error;

/// Where a Deployment counts its versions.
const REVISION: &str = "deployment.kubernetes.io/revision";

/// One version of an application.
#[derive(Clone, Debug, PartialEq)]
pub struct Revision {
    /// Its number.
    pub number: u64,
    /// Where its program came from.
    pub source: Source,
    /// When it came.
    pub created: Option<Timestamp>,
}

/// The versions that the platform still knows, the oldest first.
pub async fn revisions(client: &Client, namespace: &str, name: &str) -> Result<Vec<Revision>, Error> {
    let sets: Api<ReplicaSet> = Api::namespaced(client.clone(), namespace);
    let own = ListParams::default().labels(&format!("{APPLICATION}={name}"));
    let sets = sets.list(&own).await?.items;
    let mut found: Vec<Revision> = sets.iter().filter_map(revision).collect();
    found.sort_by_key(|revision| revision.number);
    Ok(found)
}

fn revision(set: &ReplicaSet) -> Option<Revision> {
    let annotations = set.annotations();
    Some(Revision {
        number: annotations.get(REVISION)?.parse().ok()?,
        source: Source::remembered(annotations.get(SOURCE)?)?,
        created: set.creation_timestamp().map(|time| time.0),
    })
}

/// The version to go back to: the one named, else the last that has another source than the application has now.
pub fn chosen<'a>(
    revisions: &'a [Revision],
    now: Option<&Source>,
    to: Option<u64>,
    name: &str,
) -> Result<&'a Revision, Error> {
    let found = match to {
        Some(number) => revisions.iter().find(|revision| revision.number == number),
        None => revisions.iter().rev().find(|revision| Some(&revision.source) != now),
    };
    match (found, to) {
        (Some(found), _) => Ok(found),
        (None, Some(number)) => {
            let known: Vec<String> = revisions.iter().map(|revision| revision.number.to_string()).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            Err(Error::Refused(format!("{name} has no revision {number}; there are: {known}")))
        }
        (None, None) => {
            Err(Error::Refused(format!("{name} has no earlier version with another source to go back to")))
        }
    }
}
