//! Builds through the real shim: as a user of their own where root permits, within their bounds.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use ports::build::{Builds as _, Images, Limits, Live, Order, Progress, Settings, Source};
use ports::process;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

/// A user that nobody is.
const NOBODY: u32 = 200_321;
/// How long a build may keep a test waiting.
const PATIENCE: Duration = Duration::from_secs(400);

/// A machine for one test.
struct Machine {
    data: TempDir,
    _shared: TempDir,
    images: Images,
    builds: Live<process::Live>,
}

impl Machine {
    async fn open() -> Self {
        let (data, shared) = (TempDir::new().expect("a directory"), TempDir::new().expect("a directory"));
        fs::set_permissions(shared.path(), fs::Permissions::from_mode(0o711)).expect("a mode");
        let own = std::env::current_exe().expect("this program is a file");
        let shim = vec![own.to_string_lossy().into_owned(), "shim".into()];
        let settings = process::Settings { shim, dir: data.path().join("runs") };
        let processes = Arc::new(process::Live::open(settings).await.expect("processes"));
        let images = Images::open(shared.path(), Vec::new()).expect("a store");
        let settings = Settings {
            data: data.path().to_owned(),
            shared: shared.path().to_owned(),
            environment: std::env::vars().collect(),
            file_urls: false,
            parallel: 1,
        };
        let builds = Live::open(settings, images.clone(), processes).await.expect("builds");
        Self { data, _shared: shared, images, builds }
    }

    /// Builds an archive, and waits for what comes of it.
    async fn build(&self, archive: Vec<u8>, limits: Limits) -> Progress {
        let hex: String = Sha256::digest(&archive).iter().map(|byte| format!("{byte:02x}")).collect();
        let place = self.data.path().join("blobs/shop");
        fs::create_dir_all(&place).expect("a directory");
        fs::write(place.join(format!("{hex}.tar.gz")), archive).expect("a file");
        let order = Order {
            id: "one".into(),
            namespace: "shop".into(),
            name: "app".into(),
            number: 1,
            tag: "registry/shop/app".into(),
            source: Source::Blob { url: format!("terrace-blob://shop/{hex}") },
            sub_path: None,
            env: BTreeMap::new(),
            user: nix::unistd::geteuid().is_root().then_some(NOBODY),
            limits,
            login: None,
        };
        let mut changes = self.builds.changes();
        self.builds.start(order).await.expect("it starts");
        let over = async {
            loop {
                match self.builds.look("one").await.expect("it can be looked at") {
                    Some(progress) if progress.is_over() => return progress,
                    _ => drop(changes.recv().await),
                }
            }
        };
        tokio::time::timeout(PATIENCE, over).await.expect("it ends in time")
    }
}

fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, path, text.as_bytes()).expect("it fits");
    }
    archive.into_inner().expect("it ends")
}

/// The toolchain may lie in the home of whoever installed it, which the build's user cannot enter.
async fn rust_is_compiled_by_a_user_of_its_own() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/apps/rust");
    let mut archive = tar::Builder::new(Vec::new());
    archive.append_dir_all(".", example).expect("it can be read");
    let machine = Machine::open().await;
    let progress = machine.build(archive.into_inner().expect("it ends"), Limits::default()).await;
    let Progress::Done { image, .. } = progress else { panic!("{progress:?}") };
    let image = machine.images.resolve(&image).await.expect("the store answers").expect("it is there");
    assert!(Path::new(&image.command[0]).is_file(), "{:?}", image.command);
}

async fn python_gets_its_environment() {
    let machine = Machine::open().await;
    let files = [("app.py", "print('hi')"), ("requirements.txt", "")];
    let progress = machine.build(archive(&files), Limits::default()).await;
    assert!(matches!(progress, Progress::Done { .. }), "{progress:?}");
}

async fn a_fork_bomb_in_a_build_is_contained() {
    let package = r#"{"scripts":{"build":"b() { b | b & }; b; sleep 30","start":"true"}}"#;
    let limits = Limits { processes: 64, time: Duration::from_secs(20), ..Limits::default() };
    let progress = Machine::open().await.build(archive(&[("package.json", package)]), limits).await;
    let Progress::Failed { message, .. } = progress else { panic!("{progress:?}") };
    assert!(message.starts_with("`npm run build` "), "{message}");
}

async fn a_build_that_eats_memory_is_told_how_much_it_may_have() {
    let package =
        r#"{"scripts":{"build":"node -e 'const a=[];for(;;)a.push(Buffer.alloc(1<<24,1))'","start":"true"}}"#;
    let limits = Limits { memory_bytes: 300 << 20, ..Limits::default() };
    let progress = Machine::open().await.build(archive(&[("package.json", package)]), limits).await;
    let Progress::Failed { message, .. } = progress else { panic!("{progress:?}") };
    assert!(message.starts_with("`npm run build` needed more than 300 MiB of memory"), "{message}");
}

#[expect(clippy::print_stdout, reason = "it is its own test runner")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|word| word == "shim") {
        return shim::run();
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let rows = [
        ("rust_is_compiled_by_a_user_of_its_own", runtime.spawn(rust_is_compiled_by_a_user_of_its_own())),
        ("python_gets_its_environment", runtime.spawn(python_gets_its_environment())),
        ("a_fork_bomb_in_a_build_is_contained", runtime.spawn(a_fork_bomb_in_a_build_is_contained())),
        (
            "a_build_that_eats_memory_is_told_how_much_it_may_have",
            runtime.spawn(a_build_that_eats_memory_is_told_how_much_it_may_have()),
        ),
    ];
    let mut failed = 0;
    for (name, row) in rows {
        let outcome = runtime.block_on(row);
        println!("{} {name}", if outcome.is_ok() { "ok    " } else { "FAILED" });
        failed += usize::from(outcome.is_err());
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
