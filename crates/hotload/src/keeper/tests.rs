use std::collections::HashSet;

use tokio::sync::mpsc;

use super::*;

/// How long anything may take on the busiest machine before it counts as never.
const DEADLINE: Duration = Duration::from_secs(20);

/// A server that knows who may log in.
#[derive(Default)]
struct Fake {
    may: Mutex<HashSet<String>>,
    asked: Mutex<Vec<String>>,
    switched: Mutex<Vec<String>>,
}

impl Fake {
    fn allow(&self, user: &str) {
        self.may.lock().insert(user.to_owned());
    }
}

impl Driver for Fake {
    type Proof = ();

    fn admits(&self, login: &Login) -> Result<(), Failure> {
        match login.ssl_mode().must_encrypt() {
            true => Err(Failure("no TLS here".to_owned())),
            false => Ok(()),
        }
    }

    async fn prove(&self, login: &Login) -> Result<(), Failure> {
        self.asked.lock().push(login.user().to_owned());
        match self.may.lock().contains(login.user()) {
            true => Ok(()),
            false => Err(Failure("refused".to_owned())),
        }
    }

    fn turn(&self, _: &Entry, (): ()) {}

    fn sweep(&self, to: &Entry) {
        self.switched.lock().push(format!("{} {}", to.generation, to.login.user()));
    }
}

struct Stage {
    shared: Arc<Shared>,
    server: Arc<Fake>,
    texts: mpsc::Sender<Sealed>,
    _keeper: Keeper,
}

impl Stage {
    /// A pool that is in use with the login `a`.
    async fn new(settings: Settings) -> Self {
        let (texts, source) = mpsc::channel(8);
        let (shared, server) = (Shared::new(), Arc::new(Fake::default()));
        server.allow("a");
        texts.send(text("a")).await.expect("it is read");
        let keeper = open(source, &shared, server.clone(), settings).await.expect("a login");
        Self { shared, server, texts, _keeper: keeper }
    }

    async fn until(&self, what: impl FnMut(&Status) -> bool) -> Status {
        let mut status = self.shared.status();
        let told = tokio::time::timeout(DEADLINE, status.wait_for(what)).await;
        told.expect("it comes to that").expect("the pool is there").clone()
    }
}

fn text(user: &str) -> Sealed {
    Sealed::new(format!("host=db user={user}"))
}

fn hasty() -> Settings {
    Settings { tries: 2, pause: Duration::from_millis(1), ..Settings::default() }
}

#[tokio::test]
async fn a_login_is_proven_before_it_is_used() {
    let stage = Stage::new(hasty()).await;
    stage.server.allow("b");
    stage.texts.send(text("b")).await.expect("it is read");
    let status = stage.until(|status| status.generation == Generation(2)).await;
    assert_eq!((status.user.as_deref(), status.last_error), (Some("b"), None));
    assert_eq!(stage.server.switched.lock().first().map(String::as_str), Some("1 a"));
}

#[tokio::test]
async fn what_cannot_log_in_is_tried_a_few_times_and_changes_nothing() {
    let stage = Stage::new(hasty()).await;
    stage.texts.send(text("b")).await.expect("it is read");
    let gave_up = "cannot log in as `b` (try 2 of 2): refused";
    let status = stage.until(|status| status.last_error.as_deref() == Some(gave_up)).await;
    assert_eq!((status.generation, status.user.as_deref()), (Generation(1), Some("a")));
    assert_eq!(*stage.server.asked.lock(), ["a", "b", "b"]);
    for (given, told) in [
        ("nonsense", "the connection string is not of the form key='value' (byte 0)"),
        ("host=db user=c sslmode=require", "no TLS here"),
    ] {
        stage.texts.send(Sealed::new(given)).await.expect("it is read");
        stage.until(|status| status.last_error.as_deref() == Some(told)).await;
    }
    stage.texts.send(text("a")).await.expect("it is read");
    stage.until(|status| status.last_error.is_none()).await;
    assert_eq!(*stage.server.asked.lock(), ["a", "b", "b"], "what is in use need not be proven");
}

#[tokio::test]
async fn a_newer_text_ends_the_tries_of_an_older_one() {
    let endless = Settings { tries: u32::MAX, pause: DEADLINE * 2, ..Settings::default() };
    let stage = Stage::new(endless).await;
    stage.texts.send(text("b")).await.expect("it is read");
    stage.until(|status| status.last_error.is_some()).await;
    stage.server.allow("c");
    stage.texts.send(text("c")).await.expect("it is read");
    stage.until(|status| status.user.as_deref() == Some("c")).await;
    assert_eq!(*stage.server.asked.lock(), ["a", "b", "c"]);
}

#[tokio::test]
async fn a_login_that_was_given_up_gets_another_chance_when_nothing_else_works() {
    let stage = Stage::new(hasty()).await;
    stage.texts.send(text("b")).await.expect("it is read");
    stage.until(|status| status.last_error.as_deref().is_some_and(|why| why.contains("2 of 2"))).await;
    stage.server.allow("b");
    assert_eq!(stage.shared.refused(Generation(1), "a is gone"), Verdict::Wait);
    tokio::time::timeout(DEADLINE, stage.shared.moved_on(Generation(1))).await.expect("it moves on");
    assert_eq!(stage.shared.status().borrow().user.as_deref(), Some("b"));
}

#[tokio::test]
async fn opening_says_why_there_is_no_login() {
    let brief = Settings { open_timeout: Duration::from_millis(500), ..hasty() };
    for (given, told) in [
        (None, "no usable login within 500ms: the source gave nothing"),
        (Some(text("b")), "no usable login within 500ms: cannot log in as `b` (try 2 of 2): refused"),
    ] {
        let (texts, source) = mpsc::channel(1);
        if let Some(given) = given {
            texts.send(given).await.expect("it is read");
        }
        let opened = open(source, &Shared::new(), Arc::new(Fake::default()), brief).await;
        assert_eq!(opened.err().map(|error| error.to_string()).as_deref(), Some(told));
    }
}
