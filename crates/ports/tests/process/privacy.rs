//! What a program sees of others, and others of it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use ports::process::{Cause, Processes as _, State};

use crate::room::{Room, ended, is_root};

const SECRET: &str = "correct-horse-battery";
const USER: u32 = 200_123;

pub async fn the_environment_is_what_was_given_and_nothing_else() {
    let room = Room::new().await;
    let mut launch = room.launch("a", &["/usr/bin/env"]);
    let given = [("PORT", "8080"), ("QUOTED", "a 'b' \"c\" $(d) `e`"), ("LINES", "one\ntwo"), ("EMPTY", "")];
    launch.env = given.iter().map(|&(name, value)| (name.to_owned(), value.to_owned().into())).collect();
    let id = room.start(launch).await;
    assert_eq!(ended(&room.live, &id).await.cause, Cause::Exited(0));
    let want: BTreeMap<&str, &str> = given.into_iter().collect();
    let want: String = want.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
    assert_eq!(room.log(&id), want);
}

pub async fn secrets_are_in_no_argument_and_in_no_file() {
    let room = Room::new().await;
    let mut launch =
        room.launch("a", &["/bin/sh", "-c", "echo ready; grep NoNewPrivs /proc/$$/status; sleep 1000"]);
    launch.env.insert("TOKEN".into(), SECRET.to_owned().into());
    let id = room.start(launch).await;
    room.printed(&id, "NoNewPrivs:\t1").await;
    let Ok(Some(State::Running { pid, .. })) = room.live.look(&id).await else { panic!("it does not run") };
    let shim = room.record(&id).shim.pid;
    for file in ["cmdline", "environ"] {
        for process in [shim, pid] {
            let bytes = fs::read(format!("/proc/{process}/{file}")).expect("it runs as us");
            let ours = process == pid && file == "environ";
            assert_eq!(String::from_utf8_lossy(&bytes).contains(SECRET), ours, "{file} of {process}");
        }
    }
    room.live.stop(&id, Duration::ZERO).await.expect("it is asked");
    ended(&room.live, &id).await;
    let runs = fs::read_dir(room.dir.path().join("runs")).expect("records");
    let files: Vec<_> =
        runs.flatten().map(|entry| entry.path()).chain([room.dir.path().join("a.log")]).collect();
    assert!(files.len() >= 2, "{files:?}");
    for file in files {
        let text = fs::read_to_string(&file).expect("a file of ours");
        assert!(!text.contains(SECRET), "{}", file.display());
        assert_eq!(
            fs::metadata(&file).expect("it is there").permissions().mode() & 0o077,
            0,
            "{}",
            file.display()
        );
    }
}

pub async fn a_user_of_its_own_sees_what_is_exposed_and_no_more() {
    let room = Room::new().await;
    let closed = room.dir.path().join("home");
    let tools = closed.join(".tools/bin");
    fs::create_dir_all(&tools).expect("directories");
    let tool = tools.join("tool");
    fs::write(&tool, "#!/bin/sh\nid -u; id -g; id -G; ls -A \"$1\"; touch \"$1/.tools/bin/x\" 2>/dev/null || echo closed\n")
        .expect("a script");
    fs::write(closed.join("private"), "private").expect("a file");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).expect("the script is ours");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).expect("the directory is ours");
    let words = [tool.to_str().expect("plain"), closed.to_str().expect("plain")];

    let mut launch = room.launch("exposed", &words);
    launch.user = Some(USER);
    launch.expose = vec![closed.join(".tools")];
    let id = room.start(launch.clone()).await;
    assert_eq!(ended(&room.live, &id).await.cause, Cause::Exited(0), "{}", room.log(&id));
    if is_root() {
        assert_eq!(room.log(&id), "200123\n200123\n200123\n.tools\nclosed\n");
        launch.expose.clear();
        launch.id = ports::process::Id::new("hidden");
        let id = room.start(launch).await;
        let cause = ended(&room.live, &id).await.cause;
        assert!(
            matches!(&cause, Cause::NotStarted(message) if message.contains("as user 200123")),
            "{cause:?}"
        );
        assert!(closed.join("private").exists(), "the view was the program's alone");
    } else {
        let user = nix::unistd::geteuid().to_string();
        assert!(room.log(&id).starts_with(&user), "without rights it stays who it is: {}", room.log(&id));
    }
}
