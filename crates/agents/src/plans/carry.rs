//! The writing: one object after the other, as the caller, and nothing that was not planned.

use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, Preconditions};
use serde_json::Value;

use super::{Action, Fault, Planned, Target, WRITER, Wish};
use crate::Error;
use crate::tool::Call;

/// Carries out a plan. Ends at the first object that fails, and tells how far it came.
pub(super) async fn out(call: &Call<'_>, wish: &Wish, planned: &[Planned]) -> Result<Vec<String>, Error> {
    let manifests = wish.manifests.iter().map(Some).chain(wish.deletes.iter().map(|_| None));
    let work: Vec<(&Planned, Option<&Value>)> =
        planned.iter().zip(manifests).filter(|(planned, _)| planned.action != Action::None).collect();
    let mut done = Vec::new();
    for (place, (object, manifest)) in work.iter().enumerate() {
        call.progress.tell(
            place as f64,
            Some(work.len() as f64),
            format!("{} {}", object.action.name(), object.object),
        );
        match one(call, object, *manifest).await {
            Ok(()) => done.push(told(object)),
            // Nothing was written yet: the error says all.
            Err(error) if done.is_empty() && matches!(error, Error::Denied { .. }) => return Err(error),
            Err(error) => {
                let left: Vec<&str> =
                    work.iter().skip(place + 1).map(|(left, _)| left.object.as_str()).collect();
                return Err(partly(&done, &format!("{}: {error}", object.object), &left).into());
            }
        }
    }
    Ok(done)
}

async fn one(call: &Call<'_>, planned: &Planned, manifest: Option<&Value>) -> Result<(), Error> {
    let Some(Target { resource, name, uid }) = &planned.target else {
        return Err(Error::Internal(format!("{} was planned without its place", planned.object)));
    };
    let api: Api<DynamicObject> = Api::namespaced_with(call.client.clone(), &call.namespace, resource);
    match (planned.action, manifest) {
        (Action::None, _) => Ok(()),
        (Action::Create | Action::Update, Some(manifest)) => {
            let mut manifest = manifest.clone();
            // Only the one that was looked at: another of the same name may have come since.
            if let Some(uid) = uid {
                manifest["metadata"]["uid"] = uid.as_str().into();
            }
            api.patch(name, &PatchParams::apply(WRITER), &Patch::Apply(manifest)).await?;
            Ok(())
        }
        (Action::Delete, None) => {
            let same = Preconditions { uid: uid.clone(), resource_version: None };
            match api.delete(name, &DeleteParams::default().preconditions(same)).await {
                Ok(_) => Ok(()),
                Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
                Err(error) => Err(error.into()),
            }
        }
        (Action::Create | Action::Update, None) | (Action::Delete, Some(_)) => {
            Err(Error::Internal(format!("{} was planned as something else", planned.object)))
        }
    }
}

fn told(planned: &Planned) -> String {
    let word = match planned.action {
        Action::Create => "created",
        Action::Update => "updated",
        Action::Delete => "deleted",
        Action::None => "left as it was",
    };
    format!("{}: {word}", planned.object)
}

fn partly(done: &[String], failed: &str, left: &[&str]) -> Fault {
    let all = |names: Vec<&str>| if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
    Fault::Partly {
        done: all(done.iter().map(String::as_str).collect()),
        left: format!("Failed: {failed}. Not tried: {}", all(left.to_vec())),
    }
}
