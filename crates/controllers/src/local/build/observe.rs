use std::collections::BTreeMap;
use std::time::Duration;

use api::foreign::kpack::Image;
use jiff::Timestamp;
use kit::{Fault, Reader};
use parking_lot::Mutex;
use ports::build::Builds;

use super::Images;
use super::plan::{self, World};

/// How often a branch is asked what it points to.
const ASK: Duration = Duration::from_secs(60);
/// How many answers are remembered; more branches than that are asked more often.
const REMEMBERED: usize = 10_000;

/// What branches pointed to when they were last asked.
#[derive(Default)]
pub(super) struct Heads(Mutex<BTreeMap<Branch, (Timestamp, Option<String>)>>);

/// Address and revision.
type Branch = (String, String);

/// Looks at the build that the status names, and at the branch.
pub(super) async fn observe<B: Builds>(
    room: &Images<B>,
    image: &Image,
    reader: &Reader,
) -> Result<World, Fault> {
    let last = plan::last_build(image);
    let build = match &last {
        Some(reference) => room.builds.look(&plan::id(image, reference)).await?,
        None => None,
    };
    let going = image.metadata.deletion_timestamp.is_some();
    let head = match &image.spec.source.git {
        Some(git) if !going => match head(room, image, (&git.url, &git.revision), reader.now()).await {
            // A repository that does not answer keeps nobody from running what was built.
            Err(_) if last.is_some() => None,
            answer => answer?,
        },
        _ => None,
    };
    Ok(World { build, head })
}

async fn head<B: Builds>(
    room: &Images<B>,
    image: &Image,
    (url, revision): (&String, &String),
    now: Timestamp,
) -> Result<Option<String>, Fault> {
    let key = (url.clone(), revision.clone());
    if let Some((asked, commit)) = room.heads.0.lock().get(&key)
        && now.duration_since(*asked) < jiff::SignedDuration::try_from(ASK).unwrap_or_default()
    {
        return Ok(commit.clone());
    }
    let user = (room.config.user)(image.metadata.namespace.as_deref().unwrap_or_default());
    let commit = room.builds.head(url, revision, user).await?;
    let mut heads = room.heads.0.lock();
    if heads.len() >= REMEMBERED {
        heads.clear();
    }
    heads.insert(key, (now, commit.clone()));
    Ok(commit)
}
