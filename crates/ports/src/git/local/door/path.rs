//! Which paths mean anything at the door. Nothing is decoded: a name with a percent sign is no name.

use http::Method;

use super::super::super::names;
use super::Access;

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) owner: String,
    pub(super) name: String,
    pub(super) wanted: Wanted,
}

/// What is wanted of a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Which branches there are, before a fetch or a push.
    Refs(Service),
    /// The fetch or push itself.
    Pack(Service),
    /// A page about a pull request.
    Page(i64),
}

/// The two programs of git that speak over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Service {
    /// Gives.
    UploadPack,
    /// Takes.
    ReceivePack,
}

impl Service {
    /// Its name on the line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::UploadPack => "git-upload-pack",
            Self::ReceivePack => "git-receive-pack",
        }
    }

    /// The command of git.
    pub(super) fn command(self) -> &'static str {
        match self {
            Self::UploadPack => "upload-pack",
            Self::ReceivePack => "receive-pack",
        }
    }

    fn named(name: &str) -> Option<Self> {
        [Self::UploadPack, Self::ReceivePack].into_iter().find(|service| service.name() == name)
    }
}

impl Wanted {
    pub(super) fn method(self) -> Method {
        match self {
            Self::Refs(_) | Self::Page(_) => Method::GET,
            Self::Pack(_) => Method::POST,
        }
    }

    pub(super) fn access(self) -> Access {
        match self {
            Self::Refs(Service::ReceivePack) | Self::Pack(Service::ReceivePack) => Access::Write,
            Self::Refs(Service::UploadPack) | Self::Pack(Service::UploadPack) | Self::Page(_) => Access::Read,
        }
    }
}

/// What a path behind the prefix asks for.
pub(super) fn asked(path: &str, query: Option<&str>) -> Option<Asked> {
    let (owner, rest) = path.split_once('/')?;
    let (name, rest) = rest.split_once('/')?;
    let name = name.strip_suffix(".git")?;
    if !names::is_name(owner) || owner.starts_with('.') || !names::is_name(name) {
        return None;
    }
    let wanted = match rest {
        "info/refs" => Wanted::Refs(Service::named(query?.strip_prefix("service=")?)?),
        _ => match rest.strip_prefix("pulls/") {
            Some(number) => {
                Wanted::Page(number.parse().ok().filter(|number: &i64| number.to_string() == rest[6..])?)
            }
            None => Wanted::Pack(Service::named(rest)?),
        },
    };
    Some(Asked { owner: owner.to_owned(), name: name.to_owned(), wanted })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_paths_mean_anything() {
        let upload = Some("service=git-upload-pack");
        let told =
            |path: &str, query| asked(path, query).map(|asked| (asked.owner, asked.name, asked.wanted));
        let want = |wanted| Some(("team".to_owned(), "shop".to_owned(), wanted));
        assert_eq!(told("team/shop.git/info/refs", upload), want(Wanted::Refs(Service::UploadPack)));
        assert_eq!(told("team/shop.git/git-receive-pack", None), want(Wanted::Pack(Service::ReceivePack)));
        assert_eq!(told("team/shop.git/pulls/7", None), want(Wanted::Page(7)));
        let long = format!("team/{}.git/info/refs", "x".repeat(5000));
        let bad = [
            "",
            "/",
            "team",
            "team/shop.git",
            "team/shop/info/refs",
            "team/../shop.git/info/refs",
            "../x/y.git/info/refs",
            "%2e%2e/shop.git/info/refs",
            "team/%2e%2e.git/info/refs",
            "team%2fshop.git/info/refs",
            "team/.git/info/refs",
            "team/...git/info/refs",
            "./shop.git/info/refs",
            ".workshop/shop.git/info/refs",
            "team/shop.git/HEAD",
            "team/shop.git/objects/info/packs",
            "team/shop.git/config",
            "team/shop.git//info/refs",
            "team//shop.git/info/refs",
            "team/shop%00.git/info/refs",
            "team/shop.git/info/refs/",
            "team/a/b.git/info/refs",
            "team/shop.git/pulls/07",
            "team/shop.git/pulls/+7",
            "team/shop.git/terrace/keys.json",
            &long,
        ];
        for path in bad {
            assert_eq!(told(path, upload), None, "{path}");
        }
        for query in [None, Some(""), Some("service=git-upload-archive"), Some("service=git-upload-pack&x=1")]
        {
            assert_eq!(told("team/shop.git/info/refs", query), None, "{query:?}");
        }
    }
}
