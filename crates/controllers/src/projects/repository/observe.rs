use std::collections::BTreeSet;

use api::annotations::{ISSUED_AT, MANAGED_BY, ROTATE};
use api::projects::tenancy::{PROJECT_LABEL, PROJECT_NAMESPACE_LABEL, deploy_key_of, project_of};
use api::projects::{GitProvider, Repository};
use api::secret::Sealed;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kit::{Dice, Fault, MANAGER, Name, Reader};
use kube::ResourceExt;
use ports::git::{Error, Git, Host, Place, keys};

use super::plan::{Access, Contents, Files, Held, Home, Issued, LAYOUT, OWNERS, Seen, Spare, World, keep_of};
use super::{MADE_FOR, home_of};

/// Letters of a password: as many as nobody guesses.
const PASSWORD_LETTERS: usize = 40;

/// What there is at the host and in the cluster.
pub(super) async fn observe<G: Git>(
    git: &G,
    repository: &Repository,
    reader: &Reader,
) -> Result<World, Fault> {
    let own = repository.namespace().unwrap_or_default();
    let home = home(repository, reader).await?;
    let name = deploy_key_of(&repository.name_any());
    let secret = reader.get::<Secret>(&home.namespace, &name).await?;
    let access = match host(repository, &own, reader).await? {
        Err(missing) => Access::Locked(missing),
        Ok(host) => access(git, repository, place(repository, host)).await?,
    };
    Ok(World {
        now: reader.now(),
        access,
        secret: secret.map_or(Held::Nothing, |secret| held(repository, &home, &secret)),
        home,
        spare: spare(reader.dice(), &Name::of(repository).to_string())?,
    })
}

/// Where the deploy key goes, and whether it can.
async fn home(repository: &Repository, reader: &Reader) -> Result<Home, Fault> {
    let namespace = home_of(repository);
    let Some(project) = project_of(repository) else {
        return Ok(Home { namespace, project: None, there: true });
    };
    let found = reader.get::<Namespace>("", &namespace).await?;
    let own = repository.namespace().unwrap_or_default();
    let there = found.is_some_and(|found| {
        let says = |label: &str, value: &str| found.labels().get(label).is_some_and(|held| held == value);
        let lives = found.metadata.deletion_timestamp.is_none();
        lives && says(PROJECT_LABEL, &project) && says(PROJECT_NAMESPACE_LABEL, &own)
    });
    Ok(Home { namespace, project: Some(project), there })
}

/// The host with the login for it, or what is missing of that.
async fn host(repository: &Repository, own: &str, reader: &Reader) -> Result<Result<Host, String>, Fault> {
    let spec = &repository.spec;
    let nobody = Host {
        provider: spec.provider,
        domain: spec.domain.clone(),
        insecure: spec.insecure,
        username: None,
        token: None,
    };
    let Some(credentials) = &spec.credentials else {
        return Ok(match spec.provider {
            GitProvider::Local => Ok(nobody),
            GitProvider::Github | GitProvider::Gitlab | GitProvider::Gitea => {
                Err("credentials must name the Secret with the provider's token".to_owned())
            }
        });
    };
    let name = credentials.secret_ref.name.as_str();
    let Some(secret) = reader.get::<Secret>(own, name).await? else {
        return Ok(Err(format!(
            "Secret {own}/{name} with the credentials does not exist; create it with the key `token`, or `username` and `password`"
        )));
    };
    let word = |key: &str| text(&secret, key).filter(|word| !word.is_empty());
    let Some(token) = word("token").or_else(|| word("password")) else {
        return Ok(Err(format!(
            "Secret {own}/{name} holds no credentials; give it the key `token`, or `username` and `password`"
        )));
    };
    Ok(Ok(Host { username: word("username"), token: Some(Sealed::new(token)), ..nobody }))
}

fn place(repository: &Repository, host: Host) -> Place {
    let spec = &repository.spec;
    Place {
        host,
        owner: spec.org.clone().or_else(|| spec.owner.clone()).unwrap_or_default(),
        organization: spec.is_organization,
        name: spec.name.clone().or_else(|| spec.repository_name.clone()).unwrap_or_default(),
    }
}

/// What the host says. Where the object goes, its silence is a fact like any other: it must not hold the object for ever.
async fn access<G: Git>(git: &G, repository: &Repository, place: Place) -> Result<Access, Fault> {
    let leaves = repository.metadata.deletion_timestamp.is_some();
    match look(git, &place, leaves).await {
        Ok(seen) => Ok(Access::Open { place: Box::new(place), seen }),
        Err(error) if leaves => Ok(Access::Silent { story: error.to_string() }),
        Err(error) => Err(error.into()),
    }
}

async fn look<G: Git>(git: &G, place: &Place, leaves: bool) -> Result<Option<Box<Seen>>, Error> {
    let Some(repository) = git.look(place).await? else { return Ok(None) };
    let files = match leaves || repository.empty {
        true => Files::default(),
        false => files(git, place, &repository.default_branch).await?,
    };
    Ok(Some(Box::new(Seen { repository, files })))
}

/// What of the layout is there. Whole directories are read only where their mark is missing: they may be large.
async fn files<G: Git>(git: &G, place: &Place, branch: &str) -> Result<Files, Error> {
    let marks: Vec<String> = LAYOUT.iter().map(|directory| keep_of(directory)).collect();
    let paths: Vec<&str> = marks.iter().map(String::as_str).chain([OWNERS]).collect();
    let Some(tree) = git.read(place, branch, &paths).await? else { return Ok(Files::default()) };
    let owners = tree.files.get(OWNERS).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let (mut there, missing): (BTreeSet<&'static str>, Vec<&'static str>) = {
        let marked = |directory: &&&str| tree.files.contains_key(&keep_of(directory));
        let lacking = LAYOUT.iter().filter(|directory| !marked(directory)).copied().collect();
        (LAYOUT.iter().filter(marked).copied().collect(), lacking)
    };
    if !missing.is_empty()
        && let Some(tree) = git.read(place, branch, &missing).await?
    {
        let within = |directory: &&str| {
            let start = format!("{directory}/");
            tree.files.keys().any(|path| path.starts_with(&start))
        };
        there.extend(missing.into_iter().filter(within));
    }
    Ok(Files { there, owners })
}

/// What lies under the name of the Secret.
fn held(repository: &Repository, home: &Home, secret: &Secret) -> Held {
    let ours = match &home.project {
        Some(_) => {
            let made_for = secret.annotations().get(MADE_FOR);
            secret.labels().get(MANAGED_BY).is_some_and(|by| by == MANAGER)
                && made_for.is_some_and(|made_for| *made_for == Name::of(repository).to_string())
        }
        None => {
            let mut owners = secret.owner_references().iter();
            owners.any(|owner| {
                owner.controller == Some(true) && Some(&owner.uid) == repository.metadata.uid.as_ref()
            })
        }
    };
    if !ours {
        return Held::Foreign;
    }
    let public = text(secret, "identity.pub").unwrap_or_default();
    Held::Ours(Box::new(Issued {
        fingerprint: keys::fingerprint(&public).ok(),
        at: secret.annotations().get(ISSUED_AT).and_then(|at| at.parse().ok()),
        asked: secret.annotations().get(ROTATE).cloned(),
        contents: Contents {
            private: Sealed::new(text(secret, "identity").unwrap_or_default()),
            public,
            known_hosts: text(secret, "known_hosts").unwrap_or_default(),
            password: text(secret, "password").map(Sealed::new),
        },
    }))
}

fn text(secret: &Secret, key: &str) -> Option<String> {
    let bytes = secret.data.as_ref()?.get(key)?;
    String::from_utf8(bytes.0.clone()).ok().map(|text| match key {
        // Whoever makes a Secret by hand often leaves a newline behind.
        "token" | "username" | "password" => text.trim_end_matches(['\n', '\r']).to_owned(),
        _ => text,
    })
}

/// A key and a password that nobody has seen.
fn spare(dice: &Dice, comment: &str) -> Result<Spare, Fault> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let mut seed = [0; 32];
    seed.chunks_mut(8).for_each(|chunk| chunk.copy_from_slice(&dice.roll().to_le_bytes()[..chunk.len()]));
    let letter = |_| {
        let at = usize::try_from(dice.roll() % 62).unwrap_or_default();
        char::from(LETTERS[at])
    };
    let password: String = (0..PASSWORD_LETTERS).map(letter).collect();
    Ok(Spare { pair: keys::key_pair(&Sealed::new(seed), comment)?, password: Sealed::new(password) })
}
