use api::projects::tenancy::{account_of, namespace_of, project_of};
use api::projects::{ProductValidator, Repository};
use k8s_openapi::ByteString;
use kit::{Fault, Name, Reader};
use ports::git::{Git, Place, PullRequestState};
use ports::oci::{Error, Oci, ocm};
use serde_json::Value;

use super::plan::{CONTEXT, Head, Rule, Sight, World};
use super::{ProductValidators, repository_of};
use crate::projects::{forge, pantry};

/// Looks at the repository, the head that is checked, its mark, and the rules.
pub(super) async fn observe<G: Git, O: Oci>(
    room: &ProductValidators<G, O>,
    validator: &ProductValidator,
    reader: &Reader,
) -> Result<World, Fault> {
    Ok(World { now: reader.now(), sight: sight(room, validator, reader).await? })
}

async fn sight<G: Git, O: Oci>(
    room: &ProductValidators<G, O>,
    validator: &ProductValidator,
    reader: &Reader,
) -> Result<Sight, Fault> {
    let (own, named) = (Name::of(validator).namespace, repository_of(validator));
    let Some(repository) = reader.get::<Repository>(&named.namespace, &named.name).await? else {
        return Ok(Sight::Waiting(format!("Repository {named} does not exist")));
    };
    let project = project_of(&*repository);
    let may = match &project {
        Some(project) => forge::speaks_for(&own, (project, &named.namespace), reader).await?,
        None => own == named.namespace,
    };
    if !may {
        return Ok(Sight::Denied);
    }
    let place = match forge::place(&repository, reader).await? {
        Ok(place) => place,
        Err(lacking) => return Ok(Sight::Waiting(lacking)),
    };
    let head = match head(&room.git, validator, &place).await? {
        Ok(head) => head,
        Err(instead) => return Ok(instead),
    };
    let beside = project.as_deref().map(|project| (project, named.namespace.as_str()));
    let rules = rules(room, validator, beside, reader).await?;
    Ok(Sight::Open { place: Box::new(place), head, rules })
}

/// The head that is checked, or why there is none.
async fn head<G: Git>(
    git: &G,
    validator: &ProductValidator,
    place: &Place,
) -> Result<Result<Head, Sight>, Fault> {
    let spec = &validator.spec;
    let mut proposed = None;
    let branch = match (spec.pull_request, &spec.branch) {
        (Some(number), _) => {
            let Some(found) = git.pull_request(place, number).await? else {
                return Ok(Err(Sight::Waiting(format!("{} has no pull request {number}", place.path()))));
            };
            match found.state {
                PullRequestState::Open => {}
                PullRequestState::Merged => return Ok(Err(Sight::Over("merged"))),
                PullRequestState::Closed => return Ok(Err(Sight::Over("closed"))),
            }
            proposed = Some(found.commit);
            found.branch
        }
        (None, Some(branch)) => branch.clone(),
        (None, None) => return Ok(Err(Sight::Nameless)),
    };
    let Some(mut tree) = git.read(place, &branch, &[&spec.values_path]).await? else {
        return Ok(Err(Sight::Waiting(format!("{} has no branch {branch}", place.path()))));
    };
    // A pull request from elsewhere has a branch that is not ours, and perhaps the name of one that is.
    if proposed.is_some_and(|commit| commit != tree.commit) {
        return Ok(Err(Sight::Waiting(format!(
            "the pull request is not at the head of branch {branch}; it is looked at again, and must come from a branch of {}",
            place.path()
        ))));
    }
    let mark = git.mark(place, &tree.commit, CONTEXT).await?;
    let values = tree.files.remove(&spec.values_path);
    Ok(Ok(Head { commit: tree.commit, values, mark }))
}

/// The rules: the schema in the object, and those in the component.
async fn rules<G: Git, O: Oci>(
    room: &ProductValidators<G, O>,
    validator: &ProductValidator,
    project: Option<(&str, &str)>,
    reader: &Reader,
) -> Result<Vec<Rule>, Fault> {
    let spec = &validator.spec;
    let mut rules = Vec::new();
    if let Some(schema) = &spec.schema {
        // The form that Kubernetes gives to bytes.
        let bytes = serde_json::from_value::<ByteString>(Value::String(schema.clone()));
        rules.push(Rule { name: "schema".into(), text: bytes.map(|bytes| bytes.0).ok() });
    }
    let Some(component) = spec.component.as_ref().filter(|_| !spec.rules.is_empty()) else {
        let lost = spec.rules.iter().map(|rule| Rule { name: rule.name.clone(), text: None });
        rules.extend(lost);
        return Ok(rules);
    };
    let configs = match (&spec.service_account_name, project) {
        (Some(account), _) => {
            pantry::of_account(&Name::of(validator).namespace, account.as_str(), reader).await?
        }
        (None, Some((project, _))) => {
            pantry::of_account(&namespace_of(project), &account_of(project), reader).await?
        }
        (None, None) => Vec::new(),
    };
    let registry = pantry::registry(&component.registry.url, project, &configs, reader).await?;
    let (name, version) = (&component.name, &component.version);
    let found = ocm::descriptor(&room.oci, &registry, name, version).await?;
    let missing =
        || Error::Missing { registry: registry.host.clone(), what: format!("component {name}:{version}") };
    let found = found.ok_or_else(missing)?;
    for rule in &spec.rules {
        let bytes = ocm::document(&room.oci, &registry, &found, rule).await?;
        rules.push(Rule { name: rule.name.clone(), text: Some(bytes.to_vec()) });
    }
    Ok(rules)
}
