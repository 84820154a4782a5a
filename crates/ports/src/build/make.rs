//! One build, from its source to its image.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use tokio::time::Instant;

use super::detect::{CACHE, Listing, Recipe, detect};
use super::digest;
use super::fetch::{self, Archive, git};
use super::images::Images;
use super::pack;
use super::places::{Places, short};
use super::runner::{Command, Failure, Runner};
use super::toolchain::{self, Tool, Toolchain};
use super::{Error, Order, Source, Stage, layers, tree, unpack};
use crate::process::Processes;

/// Directories with programs that every build may need: a shell, `cp`, a linker.
const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// What one build needs of the platform.
pub(super) struct Maker<P> {
    pub(super) order: Order,
    pub(super) places: Places,
    pub(super) images: Images,
    pub(super) toolchain: Toolchain,
    pub(super) environment: BTreeMap<String, String>,
    pub(super) file_urls: bool,
    pub(super) runner: Runner<P>,
    /// Told whenever another stage begins.
    pub(super) tell: Box<dyn Fn(Stage) + Send + Sync>,
}

/// What came of a build.
pub(super) struct Made {
    pub(super) hex: String,
    pub(super) language: &'static str,
    pub(super) commit: Option<String>,
}

/// The programs that a recipe needs.
struct Tools {
    found: BTreeMap<String, Tool>,
}

impl<P: Processes> Maker<P> {
    /// Builds. Whatever comes of it, what [`Maker::rooms`] names has to be removed.
    pub(super) async fn make(&mut self) -> Result<Made, Failure> {
        self.enter(Stage::Fetching)?;
        self.prepare().await?;
        let commit = self.fetch().await?;
        self.enter(Stage::Detecting)?;
        let app = self.app()?;
        let (recipe, tools) = self.recipe(&app)?;
        let key = self.key(&app, &recipe, &tools).await?;
        let language = recipe.language;
        if let Some(hex) = self.known(&key)? {
            self.runner.note("the same source was built before; its image is used again")?;
            return Ok(Made { hex, language, commit });
        }
        self.install(&app, &recipe, &tools).await?;
        self.enter(Stage::Building)?;
        for command in &recipe.build {
            self.command(command, &recipe, &tools).await?;
        }
        self.enter(Stage::Packing)?;
        let hex = self.pack(&recipe, &tools).await?;
        let path = self.key_file(&key);
        fs::write(&path, &hex).map_err(Error::at(&path))?;
        Ok(Made { hex, language, commit })
    }

    /// The directories that are of no use after the build.
    pub(super) fn rooms(&self) -> (PathBuf, PathBuf) {
        (self.work(), self.staging())
    }

    fn enter(&self, stage: Stage) -> Result<(), Failure> {
        self.runner.go_on()?;
        (self.tell)(stage);
        Ok(())
    }

    fn work(&self) -> PathBuf {
        self.places.work.join(short(&self.order.id))
    }

    fn staging(&self) -> PathBuf {
        self.places.staging.join(short(&self.order.id))
    }

    fn cache(&self) -> PathBuf {
        Places::of_app(&self.places.caches, &self.order.namespace, &self.order.name)
    }

    /// Where the programs of the build see the application.
    fn tree(&self) -> PathBuf {
        self.work().join("tree")
    }

    async fn prepare(&self) -> Result<(), Failure> {
        tree::make_private(&self.staging(), tree::PRIVATE)?;
        let cache = self.cache();
        if let Some(above) = cache.parent() {
            tree::make_private(above, tree::PASSABLE)?;
        }
        let trimmed = cache.clone();
        tree::blocking(move || layers::trim_cache(&trimmed)).await?;
        for path in [&self.work(), &self.work().join("home"), &self.work().join("tmp"), &cache] {
            tree::make_private(path, tree::PRIVATE)?;
            tree::give_one(path, self.order.user)?;
        }
        Ok(())
    }

    async fn fetch(&mut self) -> Result<Option<String>, Failure> {
        match self.order.source.clone() {
            Source::Blob { url } => self.fetch_archive(&url).await.map(|()| None),
            Source::Git { url, revision } => self.fetch_repository(&url, &revision).await,
        }
    }

    async fn fetch_archive(&self, url: &str) -> Result<(), Failure> {
        let limits = self.order.limits.clone();
        self.runner.note(&format!("fetching {}", fetch::without_login(url)))?;
        let namespace = self.order.namespace.clone();
        let archive = match fetch::archive(url, &namespace).map_err(Failure::Told)? {
            Archive::Uploaded { hex } => {
                let blobs = self.places.blobs.clone();
                let found = tree::blocking(move || Ok(fetch::uploaded(&blobs, &namespace, &hex))).await?;
                found.map_err(Failure::Told)?
            }
            Archive::Remote(uri) => {
                let to = self.staging().join("archive");
                let left = self.runner.deadline.saturating_duration_since(Instant::now());
                let download = fetch::download::download(&uri, &to, limits.download_bytes);
                let mut wish = self.runner.wish.clone();
                let result = tokio::select! {
                    result = tokio::time::timeout(left, download) => result,
                    _ = wish.changed() => return Err(Failure::Unwanted),
                };
                result
                    .map_err(|_| Failure::Told("the download took too long".into()))?
                    .map_err(Failure::Told)?;
                to
            }
        };
        let to = self.staging().join("source");
        tree::blocking(move || Ok(unpack::unpack(&archive, &to, &limits))).await?.map_err(Failure::Told)
    }

    async fn fetch_repository(&mut self, url: &str, revision: &str) -> Result<Option<String>, Failure> {
        git::judge_url(url, self.file_urls).map_err(Failure::Told)?;
        git::judge_revision(revision).map_err(Failure::Told)?;
        tree::make_private(&self.tree(), tree::PRIVATE)?;
        tree::give_one(&self.tree(), self.order.user)?;
        let [init, fetch, checkout] = git::fetch_one(url, revision);
        self.git(init).await?;
        match self.git(fetch).await {
            Ok(()) => self.git(checkout).await?,
            Err(Failure::Told(_)) if git::is_commit(revision) => {
                for command in git::fetch_all(url, revision) {
                    self.git(command).await?;
                }
            }
            Err(failure) => return Err(failure),
        }
        // From here on only the platform touches it, so nobody can swap a file for a link.
        let source = self.staging().join("source");
        fs::rename(self.tree(), &source).map_err(Error::at(&source))?;
        let commit = git::checked_out(&source);
        tree::remove(&source.join(".git"))?;
        self.weigh(&source)?;
        Ok(commit)
    }

    async fn git(&mut self, words: Vec<String>) -> Result<(), Failure> {
        let tool = self.toolchain.find("git", self.order.user.is_some()).map_err(Failure::Told)?;
        let shown = words.iter().map(|word| fetch::without_login(word)).collect::<Vec<_>>().join(" ");
        let mut env = self.base_env(SYSTEM_PATH);
        // Only what goes to the repository needs to know who asks.
        let login = self.order.login.as_ref().filter(|_| words.get(1).is_some_and(|verb| verb == "fetch"));
        env.extend(git::environment(self.file_urls, login));
        let directory = self.tree();
        let words =
            [tool.program.to_string_lossy().into_owned()].into_iter().chain(words.into_iter().skip(1));
        let expose = tool.expose.into_iter().collect();
        self.runner.run(Command { words: words.collect(), shown, directory, env, expose }).await
    }

    /// A repository has the bounds of an archive.
    fn weigh(&self, source: &Path) -> Result<(), Failure> {
        let entries = digest::walk(source).map_err(Error::at(source))?;
        let limits = &self.order.limits;
        if entries.len() as u64 > limits.source_files {
            return Err(Failure::Told(format!("the source has more than {} files", limits.source_files)));
        }
        let bytes: u64 = entries.iter().map(digest::Entry::bytes).sum();
        if bytes > limits.source_bytes {
            return Err(Failure::Told(format!("the source is larger than {} bytes", limits.source_bytes)));
        }
        Ok(())
    }

    /// The application in the source: no link on the way to it leads elsewhere.
    fn app(&self) -> Result<PathBuf, Failure> {
        let mut app = self.staging().join("source");
        let sub = self.order.sub_path.as_deref().unwrap_or_default();
        for part in sub.split('/').filter(|part| !part.is_empty() && *part != ".") {
            app.push(part);
            let there = fs::symlink_metadata(&app).is_ok_and(|meta| meta.is_dir());
            if part == ".." || part.contains('\0') || !there {
                return Err(Failure::Told(format!("the source has no directory `{sub}`")));
            }
        }
        Ok(app)
    }

    fn recipe(&self, app: &Path) -> Result<(Recipe, Tools), Failure> {
        let listing = Listing::read(app).map_err(Error::at(app))?;
        let recipe = detect(&listing).map_err(Failure::Told)?;
        self.runner.note(&format!("found an application in {}", recipe.language))?;
        let commands = recipe.install.iter().chain(&recipe.build).filter_map(|command| command.first());
        let start = match &recipe.start {
            super::detect::Start::Program(command) => command.first().map(String::as_str),
            _ => None,
        };
        let names = commands.map(String::as_str).chain(start).chain(recipe.runtime);
        let names: BTreeSet<&str> = names.filter(|name| !name.contains('/')).collect();
        let mut found = BTreeMap::new();
        for name in names {
            let tool = self.toolchain.find(name, self.order.user.is_some()).map_err(Failure::Told)?;
            found.insert(name.to_owned(), tool);
        }
        Ok((recipe, Tools { found }))
    }

    /// A name for everything that the image follows from.
    async fn key(&self, app: &Path, recipe: &Recipe, tools: &Tools) -> Result<String, Failure> {
        let head = format!("{recipe:?} {:?} {:?}", self.order.env, tools.fingerprint());
        let app = app.to_owned();
        Ok(tree::blocking(move || digest::tree(&app, head.as_bytes()).map_err(Error::at(&app))).await?)
    }

    fn key_file(&self, key: &str) -> PathBuf {
        Places::of_app(&self.places.keys, &self.order.namespace, &self.order.name).join(key)
    }

    fn known(&self, key: &str) -> Result<Option<String>, Error> {
        let path = self.key_file(key);
        if let Some(directory) = path.parent() {
            tree::make_private(directory, tree::PRIVATE)?;
        }
        let Ok(hex) = fs::read_to_string(&path) else { return Ok(None) };
        Ok(self.images.touch(&hex)?.then_some(hex))
    }

    async fn install(&mut self, app: &Path, recipe: &Recipe, tools: &Tools) -> Result<(), Failure> {
        self.enter(Stage::Installing)?;
        let layer = recipe.layer.as_ref().map(|layer| {
            let place = Places::of_app(&self.places.layers, &self.order.namespace, &self.order.name);
            layers::Layer::new(place, layer, app, &format!("{:?} {:?}", recipe.install, tools.fingerprint()))
        });
        let layer = layer.transpose()?;
        let kept = match layer.clone() {
            Some(layer) => {
                let app = app.to_owned();
                tree::blocking(move || layer.restore(&app)).await?
            }
            None => false,
        };
        self.hand_over(app).await?;
        if kept {
            self.runner.note("dependencies have not changed; those of an earlier build are used again")?;
            return Ok(());
        }
        for command in &recipe.install {
            self.command(command, recipe, tools).await?;
        }
        if let Some(layer) = layer {
            let app = self.take_back(recipe).await?;
            tree::blocking({
                let app = app.clone();
                move || layer.save(&app)
            })
            .await?;
            self.hand_over(&app).await?;
        }
        Ok(())
    }

    /// Gives the application to the build's user, where the programs work on it.
    async fn hand_over(&self, app: &Path) -> Result<(), Failure> {
        let (app, to, user) = (app.to_owned(), self.tree(), self.order.user);
        Ok(tree::blocking(move || {
            tree::give(&app, user)?;
            tree::set_mode(&app, tree::PRIVATE)?;
            fs::rename(&app, &to).map_err(Error::at(&to))
        })
        .await?)
    }

    /// Takes the application where nobody else can change it. All programs of the build have ended.
    async fn take_back(&self, recipe: &Recipe) -> Result<PathBuf, Failure> {
        let (from, to) = (self.tree(), self.staging().join("app"));
        let python = recipe.language == "python";
        Ok(tree::blocking(move || {
            fs::rename(&from, &to).map_err(Error::at(&to))?;
            if python {
                pack::free_scripts(&to.join(".venv/bin"), &from)?;
            }
            Ok(to)
        })
        .await?)
    }

    async fn command(&mut self, words: &[String], recipe: &Recipe, tools: &Tools) -> Result<(), Failure> {
        let cache = self.cache().to_string_lossy().into_owned();
        let fill = |text: &str| text.replace(CACHE, &cache);
        let shown = words.join(" ").replace(CACHE, "cache");
        let mut words: Vec<String> = words.iter().map(|word| fill(word)).collect();
        let directory = self.tree();
        if let Some(program) = words.first_mut() {
            *program = match tools.found.get(program.as_str()) {
                Some(tool) => tool.program.to_string_lossy().into_owned(),
                None => directory.join(&program).to_string_lossy().into_owned(),
            };
        }
        let mut env = self.base_env(&tools.path());
        env.extend(recipe.build_env.iter().map(|(name, value)| ((*name).to_owned(), fill(value))));
        env.extend(self.order.env.clone());
        self.runner.run(Command { words, shown, directory, env, expose: tools.expose() }).await
    }

    fn base_env(&self, path: &str) -> BTreeMap<String, String> {
        let mut env = toolchain::passed(&self.environment);
        let work = self.work();
        let own = [
            ("PATH", path.to_owned()),
            ("HOME", work.join("home").to_string_lossy().into_owned()),
            ("TMPDIR", work.join("tmp").to_string_lossy().into_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("CI", "true".to_owned()),
            ("NO_COLOR", "1".to_owned()),
            ("CARGO_TERM_COLOR", "never".to_owned()),
        ];
        env.extend(own.map(|(name, value)| (name.to_owned(), value)));
        env
    }

    async fn pack(&self, recipe: &Recipe, tools: &Tools) -> Result<String, Failure> {
        let app = self.take_back(recipe).await?;
        let size = tree::blocking({
            let app = app.clone();
            move || tree::size(&app)
        })
        .await?;
        if size > self.order.limits.image_bytes {
            let most = self.order.limits.image_bytes;
            return Err(Failure::Told(format!("the image has {size} bytes; at most {most} are allowed")));
        }
        let manifest = pack::manifest(recipe, &app, |name| tools.found.get(name), &tools.path())?;
        self.runner.note(&format!("packing {} MiB", size.div_ceil(1 << 20)))?;
        let images = self.images.clone();
        Ok(tree::blocking(move || images.put(&app, &manifest)).await?)
    }
}

impl Tools {
    fn fingerprint(&self) -> Vec<&str> {
        self.found.values().map(|tool| tool.fingerprint.as_str()).collect()
    }

    fn expose(&self) -> Vec<PathBuf> {
        let all: BTreeSet<&PathBuf> = self.found.values().filter_map(|tool| tool.expose.as_ref()).collect();
        all.into_iter().cloned().collect()
    }

    fn path(&self) -> String {
        let own: BTreeSet<&Path> = self.found.values().filter_map(|tool| tool.program.parent()).collect();
        let own = own.iter().map(|path| path.to_string_lossy().into_owned());
        own.chain([SYSTEM_PATH.to_owned()]).collect::<Vec<_>>().join(":")
    }
}
