//! Input made to hurt: each is refused or contained with a sentence that helps, and the neighbour notices nothing.

use std::time::Duration;

use serde_json::{Value, json};
use tar::EntryType;

use crate::archive::{self, Tar, gzip};
use crate::load::{Load, Manner};
use crate::platform::{Platform, SOON, host, wait};

/// How slow the neighbour's answers may become at worst, on a small machine that builds and unpacks beside them.
const QUICK: Duration = Duration::from_secs(3);

/// An application that must not notice, and somebody who asks it all the time.
fn neighbour(platform: &Platform) -> Load {
    let pages = platform.path().join("pages");
    std::fs::create_dir(&pages).expect("a new directory");
    std::fs::write(pages.join("index.html"), "still here").expect("a file");
    platform.deploy(&pages, "neighbour", &[]);
    let load = Load::start(platform.gateway, &host("neighbour"), &[Manner::Kept, Manner::Fresh]);
    load.wait_for("still here");
    load
}

/// The neighbour was asked and answered all the time.
fn unharmed(mut platform: Platform, load: Load) {
    let total = load.finish();
    assert_eq!(total.bad, Vec::<String>::new(), "{}", platform.last_words());
    assert!(total.good > 100, "{} requests", total.good);
    assert!(total.slowest < QUICK, "the neighbour waited {:?}", total.slowest);
    platform.stop("-TERM");
}

/// An archive that is a thousand times smaller than what it unpacks to: the same compressed zeros over and over.
fn bomb() -> Vec<u8> {
    let piece = 8 << 20;
    let zeros = gzip(&vec![0; piece]);
    let mut archive = Vec::new();
    for number in 0..20 {
        let header =
            Tar::default().entry(EntryType::Regular, &format!("zeros{number}"), "", 8 * piece as u64);
        archive.extend(header.part());
        archive.extend(zeros.repeat(8));
    }
    archive
}

fn many_files() -> Vec<u8> {
    let names = (0..100_000).map(|number| format!("{}/{number}", number % 100));
    let all = names.fold(Tar::default(), |tar, name| tar.entry(EntryType::Regular, &name, "", 0));
    all.gzip()
}

#[test]
fn archives_that_reach_out_of_their_tree_are_refused() {
    let platform = Platform::start(&[]);
    let load = neighbour(&platform);
    let one = |kind, path: &str, link: &str| {
        Tar::default().file("index.html", b"hello").entry(kind, path, link, 0).gzip()
    };
    let outside = platform.path().join("outside").display().to_string();
    let behind = Tar::default().entry(EntryType::Symlink, "site", "..", 0).file("site/pwned", b"x");
    let table: Vec<(&str, Vec<u8>, &str)> = vec![
        ("bomb", bomb(), "makes the source larger than"),
        (
            "promise",
            Tar::default().entry(EntryType::Regular, "index.html", "", 7 << 30).gzip(),
            "makes the source larger than",
        ),
        ("above", Tar::default().file("../../pwned", b"x").gzip(), "has `..` in its path"),
        ("absolute", Tar::default().file(&outside, b"x").gzip(), "has an absolute path"),
        ("link", one(EntryType::Symlink, "escape", "../../../data"), "is a link out of the tree"),
        ("root-link", one(EntryType::Symlink, "escape", "/etc"), "is a link to the absolute path"),
        ("behind", behind.gzip(), "is a link out of the tree"),
        (
            "hard-link",
            one(EntryType::Link, "escape", "../data/kubeconfig"),
            "is a link to a name that has `..`",
        ),
        ("device", one(EntryType::Block, "disk", ""), "is a device"),
        ("pipe", one(EntryType::Fifo, "pipe", ""), "is a named pipe"),
        ("many", many_files(), "at most 20000 files and directories"),
        ("rubbish", b"not an archive at all".repeat(100), "is no intact tar"),
        (
            "cut",
            Tar::default().entry(EntryType::Regular, "index.html", "", 5000).gzip(),
            "it ends in the middle of a file",
        ),
    ];
    for (name, bytes, words) in &table {
        let blob = archive::upload(&platform, &platform.namespace, bytes);
        platform.apply(name, &json!({ "blob": blob }));
        assert!(bytes.len() < 4 << 20, "{name} has {} bytes ({words})", bytes.len());
    }
    for (name, _, words) in &table {
        let told = platform.failure(name);
        assert!(told.contains(words), "{name}: {told}");
    }
    for place in ["outside", "pwned", "data/pwned", "shared/pwned"] {
        assert!(!platform.path().join(place).exists(), "{place} was written");
    }

    // What lies in another namespace stays there, under whatever name it is asked for.
    platform.kubectl(&["create", "namespace", "other"]);
    let foreign = archive::upload(&platform, "other", &Tar::default().file("index.html", b"secret").gzip());
    platform.apply("thief", &json!({ "blob": foreign }));
    let told = platform.failure("thief");
    assert!(told.contains("namespace"), "{told}");
    let digest = foreign.rsplit('/').next().expect("a digest");
    let twisted = format!("terrace-blob://{}/../other/{digest}", platform.namespace);
    platform.apply("twister", &json!({ "blob": twisted }));
    platform.failure("twister");
    let path = format!("/terrace/v1/namespaces/{}/blobs/{}", platform.namespace, "0".repeat(64));
    let wrong = archive::put(&platform, &path, b"something else");
    assert!(wrong.0.is_client_error() && wrong.1.contains("has the digest"), "{wrong:?}");
    unharmed(platform, load);
}

#[test]
fn builds_and_programs_that_take_everything_are_ended() {
    let platform = Platform::start(&["--build-timeout", "25"]);
    let load = neighbour(&platform);
    let builds = [
        ("forks", "bomb() { bomb | bomb & }; bomb; wait; sleep 600", "processes at one time"),
        ("eats", "node -e 'const all=[];for(;;)all.push(Buffer.alloc(1<<26,1))'", "MiB of memory"),
        ("sleeps", "trap '' TERM; sleep 600; sleep 600", "a build may take 25 seconds"),
    ];
    for (name, line, _) in builds {
        let package = json!({ "name": name, "scripts": { "build": line, "start": "true" } });
        let tar = Tar::default().file("package.json", package.to_string().as_bytes());
        let blob = archive::upload(&platform, &platform.namespace, &tar.gzip());
        platform.apply(name, &json!({ "blob": blob }));
    }
    for (name, _, words) in builds {
        let told = platform.failure(name);
        assert!(told.contains(words), "{name}: {told}");
    }
    let program = platform.program("program");
    let tar = ["Procfile", "server.py"].iter().fold(Tar::default(), |tar, name| {
        tar.file(name, &std::fs::read(program.join(name)).expect("it is there"))
    });
    let blob = archive::upload(&platform, &platform.namespace, &tar.gzip());
    platform.apply("forking", &json!({ "blob": blob, "env": [{ "name": "MISBEHAVE", "value": "forks" }] }));
    wait("the program to be told of", SOON, || {
        let pods = platform.kubectl(&["get", "pods", "-l", "iaf.io/application=forking", "-o", "json"]);
        pods.contains("more processes than its limit").then_some(())
    });
    platform.kubectl(&["delete", "application", "forking"]);
    let builder = platform.users()[1];
    wait("everything that builds started to end", SOON, || {
        let owner = |line: &String| {
            let pid = line.split(' ').next().unwrap_or_default();
            std::fs::metadata(format!("/proc/{pid}"))
                .map(|found| std::os::unix::fs::MetadataExt::uid(&found))
                .ok()
        };
        (!platform.left_running().iter().any(|line| owner(line) == Some(builder))).then_some(())
    });
    unharmed(platform, load);
}

#[test]
fn programs_that_print_without_end_fill_no_disk() {
    let platform = Platform::start(&[]);
    let load = neighbour(&platform);
    let program = platform.program("program");
    platform.deploy(&program, "line", &["--env", "MISBEHAVE=line"]);
    platform.deploy(&program, "lines", &["--env", "MISBEHAVE=lines"]);
    let logs = |name: &str, tail: &str| {
        platform.kubectl(&["logs", &format!("deployment/{name}"), &format!("--tail={tail}")])
    };
    wait("the end of the long line", SOON * 2, || {
        logs("line", "1").contains("after the long line").then_some(())
    });
    let number =
        |text: &str| -> u64 { text.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0) };
    wait("more lines than a log holds", SOON * 2, || (number(&logs("lines", "1")) > 30_000).then_some(()));
    let kept = logs("lines", "-1");
    assert!(kept.len() > 1 << 20 && kept.len() <= 12 << 20, "{} bytes of log", kept.len());
    let mut on_disk = 0;
    let mut left = vec![platform.data().join("logs")];
    while let Some(directory) = left.pop() {
        for entry in std::fs::read_dir(directory).expect("it is ours").flatten() {
            match entry.metadata() {
                Ok(found) if found.is_dir() => left.push(entry.path()),
                Ok(found) => on_disk += found.len(),
                Err(_) => {}
            }
        }
    }
    assert!(on_disk < 64 << 20, "{on_disk} bytes of logs");
    unharmed(platform, load);
}

#[test]
fn values_reach_a_program_as_they_were_written_and_no_shell_reads_them() {
    let platform = Platform::start(&[]);
    let load = neighbour(&platform);
    let program = platform.program("program");
    platform.deploy(&program, "echo", &[]);
    let blob = platform.application("echo")["spec"]["blob"].clone();
    let trap = platform.path().join("trap").display().to_string();
    let values = [
        "two\nlines\r\n".to_owned(),
        r#"quotes ' " '' "" \ \\ \n"#.to_owned(),
        format!("$(touch {trap}) `touch {trap}` ; touch {trap} | touch {trap} && touch {trap}"),
        "$(PORT) $$(PORT) $PORT ${PORT} $(NOBODY) $$ $".to_owned(),
        "%s %n {{x}} {0} #{y} <%= z %>".to_owned(),
        "--option".to_owned(),
        " space around ".to_owned(),
        "ünï\u{1F980}\t\u{7f}".to_owned(),
        String::new(),
        "x".repeat(100_000),
    ];
    let named = |number: usize, value: &String| json!({ "name": format!("VALUE_{number}"), "value": value });
    let env: Vec<Value> = values.iter().enumerate().map(|(number, value)| named(number, value)).collect();
    platform.apply("echo", &json!({ "blob": blob, "env": env }));
    wait("the program with its values", SOON, || {
        let seen = platform.answer("echo", "/env/VALUE_5").json();
        (seen["value"] == values[5].as_str()).then_some(())
    });
    for (number, value) in values.iter().enumerate() {
        // The program from before may answer until it is gone; it has none of them.
        let seen = wait(&format!("VALUE_{number}"), SOON, || {
            let seen = platform.answer("echo", &format!("/env/VALUE_{number}")).json();
            seen["value"].as_str().map(str::to_owned)
        });
        assert_eq!(seen, *value, "VALUE_{number}");
    }
    refusals(&platform, &blob);
    repositories(&platform, &trap);
    assert!(!std::path::Path::new(&trap).exists(), "a shell read a value");
    unharmed(platform, load);
}

/// Names and numbers that no application has are refused when they are written.
fn refusals(platform: &Platform, blob: &Value) {
    let bad = [
        ("Upper_Case", json!({ "blob": blob })),
        ("-option", json!({ "blob": blob })),
        (&"long".repeat(20), json!({ "blob": blob })),
        ("host-space", json!({ "blob": blob, "host": "a b" })),
        ("host-lines", json!({ "blob": blob, "host": "a.example\nHost: b" })),
        ("host-rule", json!({ "blob": blob, "host": "a`) || Host(`b" })),
        ("host-dots", json!({ "blob": blob, "host": "a..b" })),
        ("port", json!({ "blob": blob, "port": 70000 })),
        ("replicas", json!({ "blob": blob, "replicas": -1 })),
        ("env-name", json!({ "blob": blob, "env": [{ "name": "A=B", "value": "" }] })),
        ("env-zero", json!({ "blob": blob, "env": [{ "name": "LD PRELOAD", "value": "" }] })),
        ("no-scheme", json!({ "blob": "-option" })),
        ("two-sources", json!({ "blob": blob, "image": "a" })),
    ];
    for (name, spec) in bad {
        let refused = platform.try_apply(name, &spec).expect_err(name);
        let words = ["is invalid", "nvalid value", "must", "unknown"];
        assert!(words.iter().any(|word| refused.contains(word)), "{name}: {refused}");
    }
}

/// Addresses that git or curl would read as something else end in a failed build that says so.
fn repositories(platform: &Platform, trap: &str) {
    let closed = platform.data().join("closed.git");
    let made = std::process::Command::new("git").args(["init", "-q", "--bare"]).arg(&closed).status();
    assert!(made.expect("git is there").success());
    let git = |url: &str, revision: &str| json!({ "git": { "url": url, "revision": revision } });
    let bad = [
        ("option", git(&format!("--upload-pack=touch {trap}"), "main")),
        ("helper", git(&format!("ext::sh -c touch% {trap}"), "main")),
        ("ssh-option", git(&format!("ssh://-oProxyCommand=touch%20{trap}/x"), "main")),
        ("copy-option", git(&format!("git@-oProxyCommand=touch {trap}:x"), "main")),
        ("closed", git(&format!("file://{}", closed.display()), "main")),
        ("revision", git("https://127.0.0.1:1/x.git", &format!("--upload-pack=touch {trap}"))),
        ("blob-file", json!({ "blob": "file:///etc/passwd" })),
    ];
    let mut taken = Vec::new();
    for (name, spec) in &bad {
        if platform.try_apply(name, spec).is_ok() {
            taken.push(*name);
        }
    }
    for name in taken {
        let told = platform.failure(name);
        assert!(told.contains("message"), "{name}: {told}");
        assert!(!told.contains("closed.git/refs"), "{name}: {told}");
    }
}
