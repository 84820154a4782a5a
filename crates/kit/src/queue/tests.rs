use super::*;

fn name(text: &str) -> Name {
    Name::new("default", text)
}

/// Dice that always show the same.
fn queue(roll: u64) -> Queue {
    Queue::new(Dice::loaded(move || roll))
}

/// The next object, if one is due within this long.
async fn within(queue: &Queue, limit: Duration) -> Option<String> {
    tokio::time::timeout(limit, queue.take()).await.ok().map(|taken| taken.name)
}

async fn now(queue: &Queue) -> Option<String> {
    within(queue, Duration::ZERO).await
}

#[tokio::test(start_paused = true)]
async fn objects_come_in_the_order_in_which_they_were_woken_each_once() {
    let queue = queue(0);
    for woken in ["b", "a", "b", "c", "a"] {
        queue.wake(name(woken));
    }
    assert_eq!(queue.depth(), 3);
    for want in ["b", "a", "c"] {
        assert_eq!(now(&queue).await.as_deref(), Some(want));
    }
    assert_eq!((now(&queue).await, queue.depth()), (None, 0));
}

#[tokio::test(start_paused = true)]
async fn an_object_is_never_worked_on_twice_at_once_and_a_wake_in_between_is_not_lost() {
    let queue = queue(0);
    queue.wake(name("a"));
    assert_eq!(now(&queue).await.as_deref(), Some("a"));
    queue.wake(name("a"));
    queue.wake(name("a"));
    assert_eq!(now(&queue).await, None, "it is being worked on");
    queue.done(&name("a"), Verdict::Settled);
    assert_eq!(now(&queue).await.as_deref(), Some("a"), "it was woken meanwhile");
    queue.done(&name("a"), Verdict::Settled);
    assert_eq!(now(&queue).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_delay_is_waited_for_unless_something_happens_before() {
    let queue = queue(0);
    queue.wake(name("a"));
    queue.take().await;
    queue.done(&name("a"), Verdict::After(Duration::from_secs(60)));
    assert_eq!(queue.depth(), 0, "what is not due does not wait");
    assert_eq!(within(&queue, Duration::from_secs(59)).await, None);
    assert_eq!(within(&queue, Duration::from_secs(2)).await.as_deref(), Some("a"));
    queue.done(&name("a"), Verdict::After(Duration::from_secs(60)));
    queue.wake(name("a"));
    assert_eq!(now(&queue).await.as_deref(), Some("a"));
    queue.done(&name("a"), Verdict::Settled);
    assert_eq!(within(&queue, Duration::from_secs(600)).await, None, "the old delay is forgotten");
}

#[tokio::test(start_paused = true)]
async fn a_wake_while_it_runs_comes_before_the_delay_it_asks_for() {
    let queue = queue(0);
    queue.wake(name("a"));
    queue.take().await;
    queue.wake(name("a"));
    queue.done(&name("a"), Verdict::After(Duration::from_secs(60)));
    assert_eq!(now(&queue).await.as_deref(), Some("a"));
}

#[tokio::test(start_paused = true)]
async fn a_waiting_taker_hears_of_what_is_due_earlier() {
    let queue = std::sync::Arc::new(queue(0));
    queue.wake(name("late"));
    queue.take().await;
    queue.done(&name("late"), Verdict::After(Duration::from_secs(600)));
    let waiting = tokio::spawn({
        let queue = queue.clone();
        async move { queue.take().await }
    });
    tokio::task::yield_now().await;
    let begun = Instant::now();
    queue.wake(name("early"));
    assert_eq!(waiting.await.expect("it ends").name, "early");
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_gone_is_forgotten_but_not_if_it_came_back() {
    let queue = queue(0);
    queue.wake(name("a"));
    queue.take().await;
    queue.done(&name("a"), Verdict::Gone);
    assert!(queue.inner.lock().entries.is_empty(), "nothing is remembered of it");
    queue.wake(name("a"));
    queue.take().await;
    queue.wake(name("a"));
    queue.done(&name("a"), Verdict::Gone);
    assert_eq!(now(&queue).await.as_deref(), Some("a"));
}

#[test]
fn pauses_grow_to_a_limit_and_spread_by_the_dice() {
    let table = [
        ("somebody else was faster", Retry::Now, 0, 0),
        ("and again", Retry::Now, 4, 0),
        ("too often", Retry::Now, 5, 250),
        ("far too often", Retry::Now, 6, 500),
        ("the first failure", Retry::Backoff, 0, 250),
        ("the second", Retry::Backoff, 1, 500),
        ("the sixth", Retry::Backoff, 5, 8_000),
        ("many", Retry::Backoff, 30, 300_000),
        ("many, within a minute", Retry::Within(Duration::from_secs(60)), 30, 60_000),
        ("the host asks for half a minute", Retry::After(Duration::from_secs(30)), 7, 30_000),
        ("the host asks for nothing", Retry::After(Duration::ZERO), 0, 250),
        ("the host asks for an hour", Retry::After(Duration::from_secs(3600)), 0, 300_000),
        ("beyond all counting", Retry::Backoff, u32::MAX, 300_000),
        ("a person has to act", Retry::Slowly, 0, 300_000),
    ];
    for (what, retry, failures, longest) in table {
        let longest = Duration::from_millis(longest);
        assert_eq!(pause(retry, failures, 0), longest / 2, "{what}, at the least");
        assert_eq!(pause(retry, failures, u64::MAX), longest, "{what}, at the most");
    }
}

#[tokio::test(start_paused = true)]
async fn failures_are_counted_in_a_row_and_a_success_ends_the_row() {
    let queue = queue(u64::MAX);
    let pauses = |verdicts: Vec<Verdict>| {
        let queue = &queue;
        async move {
            let mut pauses = Vec::new();
            for verdict in verdicts {
                queue.done(&name("a"), verdict);
                let begun = Instant::now();
                queue.take().await;
                pauses.push(begun.elapsed().as_millis());
            }
            pauses
        }
    };
    queue.wake(name("a"));
    queue.take().await;
    let failed = Verdict::Failed(Retry::Backoff);
    let soon = Verdict::After(Duration::from_millis(10));
    assert_eq!(pauses(vec![failed, failed, failed, soon, failed]).await, [250, 500, 1000, 10, 250]);
}
