use std::collections::BTreeMap;

use api::projects::{GitProvider, Visibility};
use api::secret::Sealed;

use super::*;
use crate::git::{PullRequestState, keys};

fn place() -> Place {
    let host = Host {
        provider: GitProvider::Github,
        domain: None,
        insecure: false,
        username: None,
        token: Some(Sealed::new("t0ken".to_owned())),
    };
    Place { host, owner: "team".to_owned(), organization: true, name: "shop".to_owned() }
}

fn commit(branch: &str, from: Option<&str>, files: &[(&str, &str)]) -> CommitWish {
    let bytes = |text: &str| (!text.is_empty()).then(|| text.as_bytes().to_vec());
    CommitWish {
        branch: branch.to_owned(),
        from: from.map(str::to_owned),
        files: files.iter().map(|(path, text)| ((*path).to_owned(), bytes(text))).collect(),
        author: "terrace".to_owned(),
        email: "terrace@localhost".to_owned(),
        message: format!("change {branch}"),
    }
}

async fn made() -> (Fake, Place) {
    let (fake, place) = (Fake::default(), place());
    let wish = Wish {
        visibility: Visibility::Private,
        default_branch: "main".to_owned(),
        description: "team/shop".to_owned(),
    };
    fake.create(&place, &wish).await.expect("it is made");
    fake.commit(&place, &commit("main", None, &[("a", "1")])).await.expect("it is begun");
    (fake, place)
}

#[tokio::test]
async fn what_is_there_already_is_no_write() {
    let (fake, place) = made().await;
    let key = keys::key_pair(&Sealed::new([1; 32]), "").expect("a key");
    let key = KeyWish { title: "k".to_owned(), public: key.public, password_digest: None, read_only: true };
    fake.add_key(&place, &key).await.expect("it is let in");
    let writes = fake.writes();
    assert_eq!(writes, 3);
    fake.add_key(&place, &key).await.expect("it is in");
    fake.commit(&place, &commit("main", None, &[("a", "1")])).await.expect("it is there");
    fake.drop_branch(&place, "gone").await.expect("it is gone");
    fake.look(&place).await.expect("it is looked at");
    assert_eq!(fake.writes(), writes);
    assert_eq!(fake.keys(&place).len(), 1);
    assert_eq!(fake.calls().last().map(String::as_str), Some("look"));
}

#[tokio::test]
async fn a_merge_keeps_what_came_meanwhile_and_removes_what_was_removed() {
    let (fake, place) = made().await;
    let wish = commit("main", None, &[("b", "1"), ("c", "1")]);
    fake.commit(&place, &wish).await.expect("it is committed");
    let wish = commit("change", Some("main"), &[("b", "2"), ("c", "")]);
    fake.commit(&place, &wish).await.expect("it is committed");
    fake.push(&place, &commit("main", None, &[("d", "1")])).expect("it is pushed");
    let wish = PullRequestWish {
        branch: "change".to_owned(),
        onto: "main".to_owned(),
        title: "t".to_owned(),
        body: String::new(),
    };
    let made = fake.propose(&place, &wish).await.expect("it is proposed");
    assert_eq!(fake.propose(&place, &wish).await, Ok(made.clone()));
    fake.merge(&place, made.number).expect("it is merged");
    let files = fake.files(&place, "main").expect("there is a branch");
    let want = [("a", "1"), ("b", "2"), ("d", "1")];
    assert_eq!(files, BTreeMap::from(want.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()))));
    let told = fake.proposed(&place, "change").await.expect("it is told").expect("there is one");
    assert_eq!(told.state, PullRequestState::Merged);
    assert!(matches!(fake.propose(&place, &wish).await, Err(Error::Refused { .. })));
}

#[tokio::test]
async fn faults_can_be_made_for_each_call_and_each_host() {
    let (fake, place) = made().await;
    let down = Error::Unreachable { host: "github.com".to_owned(), story: "test".to_owned() };
    let told = down.clone();
    fake.before_each(move |call| if call == "delete" { Err(told.clone()) } else { Ok(()) });
    assert_eq!(fake.delete(&place).await, Err(down.clone()));
    assert!(fake.exists(&place));
    assert_eq!(fake.knock(&place.host).await, Ok(()));
    fake.break_down(&place.host, Some(down.clone()));
    assert_eq!(fake.knock(&place.host).await, Err(down));
    fake.break_down(&place.host, None);
    fake.admit(&place.host, "other");
    assert!(matches!(fake.look(&place).await, Err(Error::Denied { .. })));
}
