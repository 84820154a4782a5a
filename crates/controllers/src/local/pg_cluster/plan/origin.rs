//! Where the first instance comes from, and of which version it is.

use std::time::Duration;

use api::conditions::Reason;
use api::foreign::cnpg::{Cluster, Recovery};
use jiff::{SignedDuration, Timestamp};
use kit::Refusal;
use ports::postgres::{Instance, Run, Source};

use super::verdict::{FIRST_PRIMARY, NO_OBJECTS, UNRECOVERABLE, WAITS_FOR_USER};
use super::{REST, Step, UNDER_WAY, Wait, World, there};

/// How long a first instance that could not be made rests before it is begun again.
const AGAIN: SignedDuration = SignedDuration::from_secs(30);

/// What is done about the first instance.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Begun {
    pub(super) step: Option<Step>,
    pub(super) why: String,
    pub(super) delay: Duration,
}

/// The major version of the cluster: that of its data, else the one asked for, else the newest on this machine.
pub(super) fn major(cluster: &Cluster, world: &World) -> Result<u32, Wait> {
    let wait = |phase, why| Err(Wait { phase, why, delay: REST });
    let asked = cluster.spec.image_name.as_deref().and_then(tagged);
    let held = there(&world.seen).find_map(|(_, there)| there.major);
    if let (Some(asked), Some(held)) = (asked, held)
        && asked != held
    {
        let why = format!(
            "its data is of PostgreSQL {held} and stays so, and spec.imageName asks for {asked}; ask for {held} again, or make a new cluster of PostgreSQL {asked} and move the data with pg_dump"
        );
        return wait(WAITS_FOR_USER, why);
    }
    let newest = world.builds.keys().next_back().copied();
    let Some(major) = held.or(asked).or(newest) else {
        let why = "no PostgreSQL is on this machine; `terrace postgres install 17` fetches one";
        return wait(WAITS_FOR_USER, why.to_owned());
    };
    let runs = there(&world.seen).any(|(_, there)| matches!(there.run, Run::Up(_)));
    if world.builds.contains_key(&major) || runs {
        return Ok(major);
    }
    let known: Vec<&str> = world.builds.values().map(String::as_str).collect();
    let known = if known.is_empty() { "none is".into() } else { format!("there is {}", known.join(", ")) };
    let why = format!(
        "PostgreSQL {major} is not on this machine ({known}); `terrace postgres install {major}` fetches it"
    );
    wait(WAITS_FOR_USER, why)
}

/// The major version in an image's tag, such as 17 in `postgresql:17.2-bookworm@sha256:…`.
fn tagged(image: &str) -> Option<u32> {
    let image = image.split('@').next().unwrap_or(image);
    let (_, tag) = image.rsplit('/').next().unwrap_or(image).split_once(':')?;
    let digits = tag.find(|c: char| !c.is_ascii_digit()).unwrap_or(tag.len());
    tag[..digits].parse().ok()
}

/// How the first instance comes about.
pub(super) fn first(cluster: &Cluster, world: &World, major: u32) -> Result<Result<Begun, Wait>, Refusal> {
    let seen = &world.seen;
    if seen.granted.is_some() && seen.instances.is_empty() {
        let why =
            "its data is gone from this machine; delete it, and restore a backup of it under the same name";
        return Ok(Err(Wait { phase: UNRECOVERABLE, why: why.into(), delay: REST }));
    }
    let number = seen.instances.keys().next().copied().unwrap_or(seen.highest + 1);
    let failed = match seen.instances.get(&number) {
        Some(Instance::Coming { .. }) => {
            let why = "the first server is being made".to_owned();
            return Ok(Ok(Begun { step: None, why, delay: UNDER_WAY }));
        }
        Some(Instance::Broken { story, at }) => Some((story, world.now.duration_since(*at))),
        Some(Instance::There(_)) | None => None,
    };
    if let Some((story, since)) = failed
        && since <= AGAIN
    {
        let why = format!("the first server could not be made: {story}; it is tried again");
        let left = Duration::try_from(AGAIN - since).unwrap_or_default().max(UNDER_WAY);
        return Ok(Err(Wait { phase: NO_OBJECTS, why, delay: left }));
    }
    let recovery = cluster.spec.bootstrap.as_ref().and_then(|bootstrap| bootstrap.recovery.as_ref());
    let Some(recovery) = recovery else {
        let why = format!("the first server is made, of PostgreSQL {major}");
        return Ok(Ok(Begun { step: Some(Step::Make { number, major }), why, delay: UNDER_WAY }));
    };
    let source = match source(recovery, world)? {
        Ok(source) => source,
        Err(why) => return Ok(Err(Wait { phase: FIRST_PRIMARY, why, delay: REST })),
    };
    let why = "the first server is being made from a backup".to_owned();
    Ok(Ok(Begun { step: Some(Step::Restore { number, source }), why, delay: UNDER_WAY }))
}

/// Where the data comes from, or what it waits for.
fn source(recovery: &Recovery, world: &World) -> Result<Result<Source, String>, Refusal> {
    let invalid = |message: String| Refusal::new(Reason::InvalidSpec, message);
    let named = recovery.backup.as_ref().map(|backup| backup.name.as_str()).unwrap_or_default();
    if named.is_empty() {
        return Err(invalid(
            "spec.bootstrap.recovery names no backup; name a Backup in this namespace".into(),
        ));
    }
    let target = recovery.recovery_target.as_ref().and_then(|target| target.target_time.as_deref());
    let until = target.map(|text| text.parse::<Timestamp>().map_err(|_| text)).transpose();
    let until = until
        .map_err(|text| invalid(format!("targetTime {text:?} is not a time such as 2026-01-01T12:00:00Z")))?;
    Ok(match &world.origin {
        None => Err(format!("it is made from Backup {named}, which does not exist in this namespace")),
        Some(origin) if origin.phase != "completed" => {
            Err(format!("it is made from Backup {named}, which is {} and not completed", origin.phase))
        }
        Some(origin) => Ok(Source { backup: origin.uid.clone(), until }),
    })
}
