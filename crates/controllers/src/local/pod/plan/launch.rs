//! How a container is started.

use std::path::PathBuf;
use std::time::Duration;

use k8s_openapi::api::core::v1::Container;
use ports::images::LocalImage;
use ports::probe::Check;
use ports::process::{Id, Launch, Limits};

use super::super::super::quantity::units;
use super::env::{Env, environment, expand};
use super::volumes::{home, mounts};
use super::{Found, Scene, Step};

/// Processes and threads of one container: far more than a web server needs, far less than a fork bomb.
const PROCESSES: u64 = 1024;
/// Files that one process has open.
const OPEN_FILES: u64 = 8192;
/// How much of a log is kept, as kubelet keeps of one file.
const LOG_BYTES: u64 = 10 << 20;
/// Where programs are found if an image does not say.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// How soon it is looked again whether something that lacked is there.
const CONFIG_AGAIN: Duration = Duration::from_secs(2);
/// The same for an image.
const IMAGE_AGAIN: Duration = Duration::from_secs(30);

/// Why a container cannot start yet.
#[derive(Debug)]
pub(super) struct Trouble {
    pub(super) reason: &'static str,
    pub(super) message: String,
    pub(super) again: Duration,
}

/// The steps that start a container: its directory, its log, itself.
pub(super) fn launch(scene: &Scene<'_>, one: &Container, run: &Id) -> Result<Vec<Step>, Trouble> {
    let config = |message| Trouble { reason: "CreateContainerConfigError", message, again: CONFIG_AGAIN };
    if one.restart_policy.as_deref() == Some("Always") {
        let message = "init containers that keep running are not known on one machine; make it a container";
        return Err(config(message.to_owned()));
    }
    let image = one.image.clone().unwrap_or_default();
    let found = scene.world.supplies.images.get(&image);
    let env = environment(scene, one).map_err(config)?;
    let launch = match found {
        Some(Found::Here(here)) => local(scene, one, here, env),
        Some(Found::By(runtime)) => contained(scene, one, runtime, env).map_err(config)?,
        Some(Found::Nowhere) | None => {
            let message = format!(
                "image \"{image}\" is not on this machine, and neither podman nor docker is there to get it; deploy source \
                 instead, or install one of them"
            );
            return Err(Trouble { reason: "ErrImagePull", message, again: IMAGE_AGAIN });
        }
    };
    if launch.command.is_empty() {
        let message =
            format!("no command specified: image \"{image}\" names none, and neither does the container");
        return Err(config(message));
    }
    let runtime = matches!(found, Some(Found::By(_)));
    let home = home(scene, one, runtime).map_err(config)?;
    let launch = Launch { id: run.clone(), ..launch };
    Ok(vec![Step::Prepare(home), Step::TurnLog(one.name.clone()), Step::Start(Box::new(launch))])
}

fn limits(one: &Container) -> Limits {
    let limits = one.resources.as_ref().and_then(|resources| resources.limits.as_ref());
    Limits {
        memory_bytes: limits.and_then(|limits| limits.get("memory")).and_then(|memory| units(&memory.0)),
        processes: Some(PROCESSES),
        open_files: Some(OPEN_FILES),
        lifetime: None,
        log_bytes: Some(LOG_BYTES),
    }
}

fn log(scene: &Scene<'_>, one: &Container) -> PathBuf {
    scene.world.logs.get(&one.name).cloned().unwrap_or_default()
}

/// What every program finds, whatever its image says.
fn basics(scene: &Scene<'_>) -> Env {
    let home = scene.world.home.display();
    let basics = [
        ("PATH", PATH.to_owned()),
        ("HOME", home.to_string()),
        ("TMPDIR", format!("{home}/tmp")),
        ("HOSTNAME", scene.name().to_owned()),
    ];
    basics.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect()
}

/// An image of this machine: a program with its directory.
fn local(scene: &Scene<'_>, one: &Container, image: &LocalImage, given: Env) -> Launch {
    let words = |words: &Option<Vec<String>>| -> Vec<String> {
        words.iter().flatten().map(|word| expand(word, &given)).collect()
    };
    let (mut command, args) = (words(&one.command), words(&one.args));
    if command.is_empty() {
        command = image.command.clone();
    }
    command.extend(args);
    let directory = match &one.working_dir {
        Some(directory) => image.workdir.join(directory),
        None => image.workdir.clone(),
    };
    Launch {
        id: Id::new(""),
        command,
        directory,
        env: whole_env(scene, image, given),
        user: scene.world.user,
        expose: image.expose.clone(),
        log: log(scene, one),
        limits: limits(one),
    }
}

fn whole_env(scene: &Scene<'_>, image: &LocalImage, given: Env) -> Env {
    let mut env = basics(scene);
    env.extend(image.env.iter().map(|(name, value)| (name.clone(), value.clone().into())));
    env.extend(given);
    env
}

/// An image that a container runtime runs. Values of variables are in the environment of the runtime's client, and
/// only their names among its arguments, because arguments are open to everybody.
fn contained(scene: &Scene<'_>, one: &Container, runtime: &[String], given: Env) -> Result<Launch, String> {
    let mut command = runtime.to_vec();
    let mut say = |words: &[&str]| command.extend(words.iter().map(|&word| word.to_owned()));
    say(&["run", "--rm", "--network", "host"]);
    for name in given.keys() {
        say(&["--env", name]);
    }
    for (_, place, path) in mounts(one, true)? {
        say(&["--volume", &format!("{}:{path}", scene.world.home.join(place).display())]);
    }
    if let Some(memory) = limits(one).memory_bytes {
        say(&["--memory", &memory.to_string()]);
    }
    if let Some(directory) = &one.working_dir {
        say(&["--workdir", directory]);
    }
    let words: Vec<String> = one.command.iter().flatten().map(|word| expand(word, &given)).collect();
    let (entry, rest) = match words.split_first() {
        Some((first, rest)) => (Some(first.clone()), rest.to_vec()),
        None => (None, Vec::new()),
    };
    if let Some(entry) = &entry {
        say(&["--entrypoint", entry]);
    }
    say(&["--", one.image.as_deref().unwrap_or_default()]);
    command.extend(rest);
    command.extend(one.args.iter().flatten().map(|word| expand(word, &given)));
    let mut env = basics(scene);
    env.extend(given);
    Ok(Launch {
        id: Id::new(""),
        command,
        directory: scene.world.home.clone(),
        env,
        user: None,
        expose: Vec::new(),
        log: log(scene, one),
        // The runtime keeps the bounds; its client needs none but that of the log.
        limits: Limits { log_bytes: Some(LOG_BYTES), ..Limits::default() },
    })
}

/// A question that is asked by running a command as the container would.
pub(super) fn exec_check(scene: &Scene<'_>, one: &Container, command: &[String]) -> Option<Check> {
    let image = one.image.clone().unwrap_or_default();
    let Some(Found::Here(image)) = scene.world.supplies.images.get(&image) else { return None };
    let env = whole_env(scene, image, environment(scene, one).ok()?);
    let (command, directory) = (command.to_vec(), image.workdir.clone());
    Some(Check::Exec { command, directory, env, user: scene.world.user })
}
