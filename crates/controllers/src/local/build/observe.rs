use std::collections::BTreeMap;
use std::time::Duration;

use api::foreign::kpack::Image;
use api::secret::Sealed;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kit::{Fault, Reader};
use parking_lot::Mutex;
use ports::build::{Builds, Login};

use super::Images;
use super::plan::{self, World};

/// How often a branch is asked what it points to.
const ASK: Duration = Duration::from_secs(60);
/// How many answers are remembered; more branches than that are asked more often.
const REMEMBERED: usize = 10_000;

/// What branches pointed to when they were last asked.
#[derive(Default)]
pub(super) struct Heads(Mutex<BTreeMap<Branch, (Timestamp, Option<String>)>>);

/// Namespace, address and revision: what one namespace was told with its login is not for others.
type Branch = (String, String, String);
/// What a Secret is for, as kpack has it.
const GIT: &str = "kpack.io/git";
/// The type of a Secret with a user name and a password.
const BASIC: &str = "kubernetes.io/basic-auth";

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
    let Some(git) = image.spec.source.git.as_ref().filter(|_| !going) else {
        return Ok(World { build, ..World::default() });
    };
    let namespace = image.metadata.namespace.as_deref().unwrap_or_default();
    let login = login(reader, namespace, &git.url).await?;
    let branch = (namespace.to_owned(), git.url.clone(), git.revision.clone());
    let head = match head(room, branch, login.as_ref(), reader.now()).await {
        // A repository that does not answer keeps nobody from running what was built.
        Err(_) if last.is_some() => None,
        answer => answer?,
    };
    Ok(World { build, head, login })
}

async fn head<B: Builds>(
    room: &Images<B>,
    branch: Branch,
    login: Option<&Login>,
    now: Timestamp,
) -> Result<Option<String>, Fault> {
    if let Some((asked, commit)) = room.heads.0.lock().get(&branch)
        && now.duration_since(*asked) < jiff::SignedDuration::try_from(ASK).unwrap_or_default()
    {
        return Ok(commit.clone());
    }
    let (namespace, url, revision) = &branch;
    let commit = room.builds.head(url, revision, (room.config.user)(namespace), login).await?;
    let mut heads = room.heads.0.lock();
    if heads.len() >= REMEMBERED {
        heads.clear();
    }
    heads.insert(branch, (now, commit.clone()));
    Ok(commit)
}

/// What a namespace has for a repository: of several the one that says most of its address.
async fn login(reader: &Reader, namespace: &str, url: &str) -> Result<Option<Login>, Fault> {
    let secrets = reader.list::<Secret>(Some(namespace)).await?;
    let logins = secrets.iter().filter_map(|secret| read(secret)).filter(|login| login.fits(url));
    Ok(logins.max_by_key(|login| login.prefix.len()))
}

fn read(secret: &Secret) -> Option<Login> {
    let prefix = secret.metadata.annotations.as_ref()?.get(GIT)?.clone();
    let text = |key: &str| String::from_utf8(secret.data.as_ref()?.get(key)?.0.clone()).ok();
    let basic = secret.type_.as_deref() == Some(BASIC);
    Some(Login { prefix, username: text("username")?, password: Sealed::new(text("password")?) })
        .filter(|_| basic)
}
