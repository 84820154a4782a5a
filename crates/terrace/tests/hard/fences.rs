//! What a program cannot see of the platform and of its neighbours.

use std::os::unix::fs::MetadataExt as _;

use crate::platform::{Platform, SOON, wait};

/// What the program of an application is told when it opens a path.
fn look(platform: &Platform, path: &str) -> String {
    platform.answer("spy", &format!("/look/{path}")).body
}

#[test]
fn a_program_sees_neither_the_platform_nor_other_namespaces() {
    let mut platform = Platform::start(&[]);
    let mode = std::fs::metadata(platform.data()).expect("it is there").mode();
    assert_eq!(mode & 0o777, 0o700);
    let program = platform.program("program");
    platform.deploy(&program, "spy", &[]);
    platform.kubectl(&["create", "namespace", "other"]);
    platform.kubectl(&[
        "-n",
        "other",
        "create",
        "secret",
        "generic",
        "keys",
        "--from-literal=key=hidden-word",
    ]);
    platform.deploy(&program, "victim", &["-n", "other", "--env", "GREETING=hidden-word"]);
    let (spy, victim) = (platform.answer("spy", "/").json(), platform.answer("victim", "/").json());
    if std::fs::metadata("/proc/self").expect("it is there").uid() != 0 {
        // All run as one user: only directories separate them.
        assert_eq!(spy["uid"], victim["uid"]);
        platform.stop("-TERM");
        return;
    }
    assert_eq!(spy["uid"], platform.users()[0]);
    assert!(victim["uid"].as_u64().is_some_and(|uid| uid >= 200_000));
    assert_ne!(spy["uid"], victim["uid"]);
    let pid = victim["pid"].to_string();
    let home = |pid: &str| {
        let environ = std::fs::read(format!("/proc/{pid}/environ")).expect("root reads everything");
        let environ = String::from_utf8_lossy(&environ).into_owned();
        environ.split('\0').find_map(|pair| pair.strip_prefix("HOME=")).expect("a home").to_owned()
    };
    let parent = |pid: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
        stat.rsplit(')').next().and_then(|rest| rest.split(' ').nth(2)).expect("a parent").to_owned()
    };
    let (own_home, other_home) = (home(&spy["pid"].to_string()), home(&pid));
    assert!(look(&platform, &own_home).contains("names"), "it cannot see its own home");
    assert!(look(&platform, "/proc/self/environ").contains("HOSTNAME"));
    let closed = [
        platform.data().display().to_string(),
        platform.data().join("kubeconfig").display().to_string(),
        platform.path().join("shared/pods").display().to_string(),
        platform.path().join("shared/images").display().to_string(),
        other_home.clone(),
        format!("{other_home}/tmp"),
        format!("/proc/{pid}/environ"),
        format!("/proc/{pid}/root/etc/hostname"),
        format!("/proc/{}/environ", platform.pid()),
        format!("/proc/{}/environ", parent(&spy["pid"].to_string())),
        format!("/proc/{}/environ", parent(&pid)),
        format!("/proc/{}/root/{}", parent(&spy["pid"].to_string()), platform.data().display()),
    ];
    let open: Vec<String> = closed
        .iter()
        .map(|path| format!("{path}: {}", look(&platform, path)))
        .filter(|told| !told.contains("\"error\": \"Permission denied\""))
        .collect();
    assert_eq!(open, Vec::<String>::new());
    // Nothing of the platform's own environment reaches a program.
    assert!(!look(&platform, "/proc/self/environ").contains("the-platforms-own"));
    wait("nothing of a secret in words", SOON, || {
        let words = platform.left_running().join("\n");
        (!words.contains("hidden-word")).then_some(())
    });
    platform.stop("-TERM");
}
