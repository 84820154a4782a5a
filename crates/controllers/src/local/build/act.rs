use api::foreign::kpack::Image;
use kit::{Fault, Receipt};
use ports::build::{Builds, Order, Source};

use super::Images;
use super::plan::{self, Step};

/// Does one step on the machine.
pub(super) async fn act<B: Builds>(room: &Images<B>, image: &Image, step: &Step) -> Result<Receipt, Fault> {
    match step {
        Step::Start { reference, number, commit, login } => {
            let order = order(room, image, (reference, *number), commit.as_deref());
            room.builds.start(Order { login: login.clone(), ..order }).await?;
        }
        Step::Forget { reference } => room.builds.forget(&plan::id(image, reference)).await?,
        Step::Clear => {
            let (namespace, name) = names(image);
            room.builds.clear(&namespace, &name).await?;
        }
    }
    Ok(Receipt::Done)
}

/// The order for a build: the spec, word for word, at the commit that the plan saw.
fn order<B>(
    room: &Images<B>,
    image: &Image,
    (reference, number): (&str, u64),
    commit: Option<&str>,
) -> Order {
    let (namespace, name) = names(image);
    let spec = &image.spec;
    let blob = Source::Blob { url: spec.source.blob.clone().unwrap_or_default().url };
    let source = spec.source.git.as_ref().map_or(blob, |git| Source::Git {
        url: git.url.clone(),
        revision: commit.unwrap_or(&git.revision).to_owned(),
    });
    let variables = spec.build.iter().flat_map(|build| &build.env);
    Order {
        id: plan::id(image, reference),
        user: (room.config.user)(&namespace),
        namespace,
        name,
        number,
        tag: spec.tag.clone(),
        source,
        sub_path: spec.source.sub_path.clone(),
        env: variables.map(|v| (v.name.clone(), v.value.clone().unwrap_or_default())).collect(),
        limits: room.config.limits.clone(),
        login: None,
    }
}

fn names(image: &Image) -> (String, String) {
    let meta = &image.metadata;
    (meta.namespace.clone().unwrap_or_default(), meta.name.clone().unwrap_or_default())
}
