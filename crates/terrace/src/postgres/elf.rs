//! Programs of another release, made to run with that release's own loader and libraries.
//!
//! The kernel starts a program through the loader that the program names, by an absolute path; so that path is written
//! anew when the tree moves. Libraries are found by a path relative to the program. It is the old kind of path (`RPATH`),
//! which also counts for what libraries need and for what the server loads later; where a library has a path of its own
//! the loader would not look into the program's, so it is taken away.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use tokio::process::Command;

use super::apt::answer;

/// The first bytes of a program or library.
const MAGIC: &[u8] = b"\x7fELF";

/// A tree with the packages of another release in it.
pub(super) struct Tree<'a> {
    /// Its top.
    pub top: &'a Path,
    /// Where the programs of PostgreSQL lie in it.
    pub bin: &'a Path,
    /// The program that changes programs.
    pub patchelf: &'a Path,
}

impl Tree<'_> {
    /// Makes every program look for libraries in the tree.
    pub(super) async fn use_own_libraries(&self) -> anyhow::Result<()> {
        let loader = self.loader()?;
        let triplet = loader.parent().and_then(Path::file_name).context("the loader lies nowhere")?;
        let triplet = triplet.to_string_lossy();
        // Releases differ in whether `/lib` is a directory of its own.
        let up = "../".repeat(self.bin.strip_prefix(self.top)?.components().count());
        let path = format!("$ORIGIN/{up}usr/lib/{triplet}:$ORIGIN/{up}lib/{triplet}");
        for program in elves(self.bin)? {
            let mut command = Command::new(self.patchelf);
            answer(command.args(["--force-rpath", "--set-rpath", &path]).arg(program)).await?;
        }
        for dir in self.library_dirs(&triplet) {
            for library in elves(&dir)? {
                let own = answer(Command::new(self.patchelf).arg("--print-rpath").arg(&library)).await?;
                if !own.trim().is_empty() {
                    answer(Command::new(self.patchelf).arg("--remove-rpath").arg(&library)).await?;
                }
            }
        }
        Ok(())
    }

    /// Makes every program start through the tree's loader, once the tree lies at `at`.
    pub(super) async fn use_own_loader(&self, at: &Path) -> anyhow::Result<()> {
        let loader = at.join(self.loader()?.strip_prefix(self.top)?);
        let mut command = Command::new(self.patchelf);
        command.arg("--set-interpreter").arg(loader).args(elves(self.bin)?);
        answer(&mut command).await.map(drop)
    }

    /// Checks that a program finds all its libraries, and each of them in the tree.
    pub(super) async fn check(&self, program: &str) -> anyhow::Result<()> {
        let file = self.bin.join(program);
        let said = answer(Command::new(self.loader()?).arg("--list").arg(&file)).await?;
        match strays(&said, self.top).as_slice() {
            [] => Ok(()),
            strays => bail!("{program} would use what does not belong to it: {}", strays.join(", ")),
        }
    }

    fn library_dirs(&self, triplet: &str) -> Vec<PathBuf> {
        let mut dirs: Vec<PathBuf> = ["usr/lib", "lib"].map(|lib| self.top.join(lib).join(triplet)).into();
        dirs.extend(self.bin.parent().map(|above| above.join("lib")));
        dirs
    }

    /// The loader itself: what lies at the place that programs name is a link, which may lead out of the tree.
    fn loader(&self) -> anyhow::Result<PathBuf> {
        for lib in ["usr/lib", "lib"] {
            let triplets = std::fs::read_dir(self.top.join(lib)).into_iter().flatten().flatten();
            for file in triplets.flat_map(|triplet| std::fs::read_dir(triplet.path())).flatten().flatten() {
                let name = file.file_name();
                if name.to_string_lossy().starts_with("ld-linux") && file.file_type()?.is_file() {
                    return Ok(file.path());
                }
            }
        }
        bail!("the packages hold no loader")
    }
}

/// The libraries in the list of a loader that were not found, or lie elsewhere than under `top`.
pub(super) fn strays(said: &str, top: &Path) -> Vec<String> {
    let stray = |line: &str| {
        let (name, place) = line.trim().split_once(" => ")?;
        let place = place.split(" (").next()?.trim();
        let lies = || Path::new(place).canonicalize().is_ok_and(|path| path.starts_with(top));
        (!lies()).then(|| format!("{name} ({place})"))
    };
    said.lines().filter_map(stray).collect()
}

/// The libraries that programs of this machine's own release would miss here.
pub(super) async fn missing(files: &[PathBuf]) -> anyhow::Result<Vec<String>> {
    let said = answer(Command::new("ldd").args(files)).await?;
    Ok(said.lines().filter_map(|line| line.trim().strip_suffix(" => not found")).map(str::to_owned).collect())
}

/// The programs and libraries in a directory; links are left out.
fn elves(dir: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten() {
        let entry = entry?;
        if entry.file_type()?.is_file() && begins_with(&entry.path(), MAGIC)? {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

fn begins_with(file: &Path, magic: &[u8]) -> std::io::Result<bool> {
    use std::io::Read;
    let mut head = Vec::new();
    std::fs::File::open(file)?.take(magic.len() as u64).read_to_end(&mut head)?;
    Ok(head == magic)
}
