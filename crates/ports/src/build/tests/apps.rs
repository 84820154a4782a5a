//! Whole applications: built, started, asked, ended.

use std::net::TcpListener;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::super::contract::over;
use super::super::{Builds as _, Image, Order, Progress, Stage};
use super::bench::Bench;

/// How long an application has to answer.
const PATIENCE: Duration = Duration::from_secs(20);

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/apps").join(name)
}

fn broken(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/apps").join(name)
}

/// Builds, and returns the image.
async fn built(bench: &Bench, order: &Order) -> Image {
    bench.live.start(order.clone()).await.expect("it starts");
    let Progress::Done { image, .. } = over(&bench.live, &order.id).await else {
        panic!("{:?}\n{}", bench.live.look(&order.id).await, bench.log(order));
    };
    bench.images.resolve(&image).await.expect("the store answers").expect("the image is there")
}

/// Starts an image; what it answers to `/` and `/healthz`; how it ends when it is asked to.
async fn answers(image: &Image, user: Option<u32>) -> (String, String) {
    let port =
        TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port").port();
    let mut command = tokio::process::Command::new(&image.command[0]);
    command.args(&image.command[1..]).current_dir(&image.workdir).env_clear().envs(&image.env);
    command.env("PORT", port.to_string()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.process_group(0).kill_on_drop(true);
    if let Some(user) = user {
        command.uid(user).gid(user);
    }
    let mut child = command.spawn().expect("it starts");
    let root = get(port, "/").await;
    let health = get(port, "/healthz").await;
    let pid = i32::try_from(child.id().expect("it runs")).expect("process numbers are small");
    kill(Pid::from_raw(pid), Signal::SIGTERM).expect("it can be asked to end");
    let end = tokio::time::timeout(PATIENCE, child.wait()).await.expect("it ends in time").expect("it ends");
    assert!(end.code().is_none_or(|code| code == 0), "{end}");
    (root, health)
}

async fn get(port: u16, path: &str) -> String {
    let asked = async {
        loop {
            let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)).await else {
                tokio::task::yield_now().await;
                continue;
            };
            let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
            stream.write_all(request.as_bytes()).await.expect("it listens");
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.expect("it answers");
            return answer;
        }
    };
    tokio::time::timeout(PATIENCE, asked).await.expect("it answers in time")
}

async fn example_answers(name: &str, tool: &str, greeting: &str) {
    if !there(tool) {
        return;
    }
    let bench = Bench::open().await;
    let order = bench.upload_directory(name, &example(name));
    let image = built(&bench, &order).await;
    let (root, health) = answers(&image, None).await;
    assert!(root.starts_with("HTTP/1.") && root.contains(" 200 ") && root.contains(greeting), "{root}");
    assert!(health.contains(" 200 ") && health.contains("ok"), "{health}");
    bench.is_clean();
}

/// Whether a toolchain is on this machine.
fn there(tool: &str) -> bool {
    let environment = std::env::vars().collect();
    super::super::toolchain::Toolchain::new(&environment).find(tool, false).is_ok()
}

#[tokio::test]
async fn the_python_example_answers() {
    example_answers("python", "python3", "Hello from Python").await;
}

#[tokio::test]
async fn the_node_example_answers() {
    example_answers("node", "node", "Hello from Node.js").await;
}

#[tokio::test]
async fn the_go_example_answers() {
    example_answers("go", "go", "Hello from Go").await;
}

#[tokio::test]
async fn the_rust_example_answers() {
    example_answers("rust", "cargo", "Hello from Rust").await;
}

#[tokio::test]
async fn the_procfile_example_answers() {
    example_answers("procfile", "python3", "Hello from a Procfile").await;
}

#[tokio::test]
async fn the_static_example_is_served_by_the_platform() {
    let bench = Bench::open().await;
    let image = built(&bench, &bench.upload_directory("static", &example("static"))).await;
    assert_eq!(image.command, ["serve".to_owned(), image.workdir.join(".").to_string_lossy().into_owned()]);
    let page = std::fs::read_to_string(image.workdir.join("index.html")).expect("the page is there");
    assert!(page.contains("Hello from static files"));
}

#[tokio::test]
async fn a_compile_error_is_told_in_the_words_of_the_compiler() {
    if !there("go") {
        return;
    }
    let bench = Bench::open().await;
    let order = bench.upload_directory("broken", &broken("compile-error"));
    bench.live.start(order.clone()).await.expect("it starts");
    let Progress::Failed { stage, message } = over(&bench.live, &order.id).await else {
        panic!("it was built")
    };
    assert_eq!(stage, Stage::Building);
    assert!(message.starts_with("`go build -o bin/app .` exited with code 1:\n"), "{message}");
    assert!(message.contains("undefined: undefinedGreeting"), "{message}");
    assert!(bench.log(&order).contains("undefined: undefinedGreeting"));
    bench.is_clean();
}

#[tokio::test]
async fn an_application_that_will_not_run_is_built_all_the_same() {
    let bench = Bench::open().await;
    for name in ["exits-at-once", "never-listens"] {
        let image = built(&bench, &bench.upload_directory(name, &broken(name))).await;
        assert_eq!(image.command[1..], ["app.py"], "{name}");
    }
}

#[tokio::test]
async fn under_root_a_build_runs_as_its_own_user_and_nobody_can_change_the_image() {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let user = 200_123;
    let bench = Bench::open().await;
    let files = [
        (
            "app.py",
            "import os\nfrom http.server import *\nclass H(BaseHTTPRequestHandler):\n  def do_GET(s):\n    s.send_response(200)\n    s.end_headers()\n    s.wfile.write(f'ok as {os.getuid()} {os.access(\".\", os.W_OK)}'.encode())\nHTTPServer(('127.0.0.1', int(os.environ['PORT'])), H).serve_forever()\n",
        ),
        ("requirements.txt", ""),
    ];
    let order = Order { user: Some(user), ..bench.upload("owned", &files) };
    let image = built(&bench, &order).await;
    assert!(bench.processes.launched().iter().all(|launch| launch.user == Some(user)));
    let meta = std::fs::metadata(image.workdir.join("app.py")).expect("it is there");
    assert_eq!((meta.uid(), meta.mode() & 0o7777), (0, 0o444));
    let (root, _) = answers(&image, Some(user)).await;
    assert!(root.ends_with("ok as 200123 False"), "{root}");
}
