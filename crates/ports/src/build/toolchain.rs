//! The languages' programs on this machine: where they are, who may reach them, and what of the platform's environment
//! they see.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Directories where programs are by custom, after those of `PATH`.
const USUAL: [&str; 4] = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/local/go/bin"];

/// How to get what is missing, by program.
const HINTS: [(&str, &str); 12] = [
    ("go", "Go: install the package `golang`, or the archive from go.dev into /usr/local/go"),
    ("node", "Node.js: install the package `nodejs`"),
    ("npm", "npm: install the package `npm`; it comes with Node.js"),
    ("yarn", "Yarn: run `npm install --global yarn`"),
    ("pnpm", "pnpm: run `npm install --global pnpm`"),
    ("python3", "Python: install the packages `python3` and `python3-venv`"),
    ("ruby", "Ruby: install the package `ruby`"),
    ("bundle", "Bundler: install the package `bundler`"),
    ("java", "Java: install the package `default-jdk`"),
    ("mvn", "Maven: install the package `maven`"),
    ("gradle", "Gradle: install the package `gradle`"),
    ("cargo", "Rust: install it with `rustup`, or the package `cargo`"),
];

/// Settings of the platform's environment that a build sees: where packages come from and how to get there.
const PASSED: [&str; 25] = [
    "PIP_*",
    "NPM_CONFIG_*",
    "npm_config_*",
    "YARN_REGISTRY",
    "GOPROXY",
    "GONOPROXY",
    "GOPRIVATE",
    "GOSUMDB",
    "GONOSUMDB",
    "GOINSECURE",
    "CARGO_REGISTRIES_*",
    "CARGO_REGISTRY_*",
    "CARGO_SOURCE_*",
    "CARGO_NET_*",
    "CARGO_HTTP_*",
    "BUNDLE_MIRROR*",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
];

/// Words in a variable's name that tell of a secret, which no build sees.
const SECRET: [&str; 5] = ["TOKEN", "PASSWORD", "SECRET", "CREDENTIAL", "AUTH"];

/// A program that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tool {
    /// The program itself.
    pub(super) program: PathBuf,
    /// What has to be exposed to a user who cannot reach it.
    pub(super) expose: Option<PathBuf>,
    /// Changes when the program does.
    pub(super) fingerprint: String,
}

/// Where programs are looked for.
#[derive(Clone, Debug)]
pub(super) struct Toolchain {
    directories: Vec<PathBuf>,
    rustup: Option<PathBuf>,
}

impl Toolchain {
    /// Reads where to look from the platform's environment.
    pub(super) fn new(environment: &BTreeMap<String, String>) -> Self {
        let path = environment.get("PATH").map(String::as_str).unwrap_or_default();
        let directories = std::env::split_paths(path).chain(USUAL.map(PathBuf::from));
        let home = environment.get("HOME").map(PathBuf::from);
        let rustup =
            environment.get("RUSTUP_HOME").map(PathBuf::from).or(home.map(|home| home.join(".rustup")));
        Self { directories: directories.filter(|directory| directory.is_absolute()).collect(), rustup }
    }

    /// Finds a program. For another user than the platform's, one that he can reach goes before one that has to be
    /// exposed to him. The error names what is missing and how to get it.
    pub(super) fn find(&self, name: &str, other_user: bool) -> Result<Tool, String> {
        let found: Vec<PathBuf> =
            self.directories.iter().filter_map(|place| self.candidate(place, name)).collect();
        let reachable = found.iter().find(|program| !other_user || open_to_all(program));
        let Some(program) = reachable.or(found.first()) else {
            let hint = HINTS.iter().find(|(tool, _)| *tool == name);
            let hint = hint.map_or_else(|| format!("a program `{name}`"), |(_, hint)| hint.to_string());
            return Err(format!("`{name}` is not on this machine; this build needs {hint}"));
        };
        let closed = other_user && !open_to_all(program);
        let expose = closed.then(|| home_of(program));
        Ok(Tool { program: program.clone(), expose, fingerprint: fingerprint(program) })
    }

    fn candidate(&self, directory: &Path, name: &str) -> Option<PathBuf> {
        let program = directory.join(name);
        let meta = fs::metadata(&program).ok()?;
        if !meta.is_file() || meta.permissions().mode() & 0o111 == 0 {
            return None;
        }
        if directory.file_name().is_some_and(|last| last == "shims") {
            return pyenv(directory, name);
        }
        let real = fs::canonicalize(&program).ok()?;
        if real.file_name().is_some_and(|last| last == "rustup") {
            return self.rustup_tool(name);
        }
        // A link keeps its name: programs such as busybox go by it.
        Some(program)
    }

    /// The program behind rustup's stand-in, which would need the home of the one who installed it.
    fn rustup_tool(&self, name: &str) -> Option<PathBuf> {
        let home = self.rustup.as_ref()?;
        let settings = fs::read_to_string(home.join("settings.toml")).ok()?;
        let line = settings.lines().find_map(|line| line.trim().strip_prefix("default_toolchain"))?;
        let toolchain = line.split('"').nth(1)?;
        let program = home.join("toolchains").join(toolchain).join("bin").join(name);
        program.is_file().then_some(program)
    }
}

/// The program behind a shim of pyenv: the shims are scripts that need the home of the one who installed them.
fn pyenv(shims: &Path, name: &str) -> Option<PathBuf> {
    let root = shims.parent()?;
    let versions = fs::read_to_string(root.join("version")).ok()?;
    let places =
        versions.lines().map(|version| root.join("versions").join(version.trim()).join("bin").join(name));
    places.into_iter().find(|program| program.is_file())
}

/// Whether every user can start this program: all may pass the directories above it, and above what it links to.
fn open_to_all(program: &Path) -> bool {
    let open = |path: &Path| {
        let passable = |above: &Path| fs::metadata(above).is_ok_and(|meta| meta.mode() & 0o001 != 0);
        path.ancestors().all(passable)
    };
    open(program) && fs::canonicalize(program).is_ok_and(|real| open(&real))
}

/// What a program is installed in: `<home>/bin/<program>`.
fn home_of(program: &Path) -> PathBuf {
    let real = fs::canonicalize(program).unwrap_or_else(|_| program.to_owned());
    let above = real.parent().filter(|above| above.ends_with("bin")).and_then(Path::parent);
    above.or(real.parent()).unwrap_or(&real).to_owned()
}

fn fingerprint(program: &Path) -> String {
    match fs::metadata(program) {
        Ok(meta) => format!("{} {} {}", program.display(), meta.len(), meta.mtime()),
        Err(_) => program.display().to_string(),
    }
}

/// What a build sees of the platform's environment.
pub(super) fn passed(environment: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let allowed = |name: &str| {
        let upper = name.to_ascii_uppercase();
        let listed = PASSED.iter().any(|pattern| match pattern.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => upper == *pattern,
        });
        listed && !SECRET.iter().any(|word| upper.contains(word))
    };
    environment.iter().filter(|(name, _)| allowed(name)).map(|(k, v)| (k.clone(), v.clone())).collect()
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;

    use tempfile::TempDir;

    use super::*;

    fn program(path: &Path) {
        fs::create_dir_all(path.parent().expect("it has a directory")).expect("a directory");
        fs::write(path, "").expect("a file");
        fs::set_permissions(path, Permissions::from_mode(0o755)).expect("a mode");
    }

    fn toolchain(path: &[&Path]) -> Toolchain {
        let directories = path.iter().map(|path| path.to_path_buf()).collect();
        Toolchain { directories, rustup: None }
    }

    #[test]
    fn a_missing_program_is_named_with_a_way_to_get_it() {
        let empty = TempDir::new().expect("a directory");
        let why = toolchain(&[empty.path()]).find("go", false).expect_err("it is not there");
        assert!(why.starts_with("`go` is not on this machine; this build needs Go: install"), "{why}");
    }

    #[test]
    fn a_shim_stands_for_the_program_behind_it_and_open_programs_go_first() {
        let place = TempDir::new().expect("a directory");
        let (closed, open) = (place.path().join("closed"), place.path().join("open"));
        program(&closed.join("shims/python3"));
        program(&closed.join("versions/3.12/bin/python3"));
        fs::write(closed.join("version"), "3.12\n").expect("a file");
        program(&open.join("bin/python3"));
        fs::set_permissions(&closed, Permissions::from_mode(0o700)).expect("a mode");
        fs::set_permissions(place.path(), Permissions::from_mode(0o755)).expect("a mode");
        let tools = toolchain(&[&closed.join("shims"), &open.join("bin")]);
        let own = tools.find("python3", false).expect("it is there");
        assert_eq!(own.program, closed.join("versions/3.12/bin/python3"));
        assert_eq!(own.expose, None);
        let other = tools.find("python3", true).expect("it is there");
        assert_eq!((other.program, other.expose), (open.join("bin/python3"), None));
        let only = toolchain(&[&closed.join("shims")]).find("python3", true).expect("it is there");
        assert_eq!(only.expose, Some(closed.join("versions/3.12")));
    }

    #[test]
    fn rustup_is_seen_through() {
        let place = TempDir::new().expect("a directory");
        let home = place.path().join("rustup-home");
        program(&place.path().join("bin/rustup"));
        std::os::unix::fs::symlink("rustup", place.path().join("bin/cargo")).expect("a link");
        program(&home.join("toolchains/stable-x/bin/cargo"));
        fs::write(home.join("settings.toml"), "version = \"12\"\ndefault_toolchain = \"stable-x\"\n")
            .expect("a file");
        let tools = Toolchain { directories: vec![place.path().join("bin")], rustup: Some(home.clone()) };
        let cargo = tools.find("cargo", false).expect("it is there");
        assert_eq!(cargo.program, home.join("toolchains/stable-x/bin/cargo"));
    }

    #[test]
    fn a_build_sees_registries_and_proxies_and_no_secret() {
        let table = [
            ("PIP_INDEX_URL", true),
            ("npm_config_registry", true),
            ("https_proxy", true),
            ("GOPROXY", true),
            ("CARGO_REGISTRIES_MINE_INDEX", true),
            ("CARGO_REGISTRIES_MINE_TOKEN", false),
            ("npm_config__authToken", false),
            ("AWS_SECRET_ACCESS_KEY", false),
            ("HOME", false),
            ("LD_PRELOAD", false),
        ];
        let environment = table.iter().map(|(name, _)| (name.to_string(), "x".to_owned())).collect();
        let passed = passed(&environment);
        for (name, want) in table {
            assert_eq!(passed.contains_key(name), want, "{name}");
        }
    }
}
