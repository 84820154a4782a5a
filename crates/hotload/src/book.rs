//! Which login is in use, and what happens when one is refused. Pure.

use std::fmt;

use crate::login::{Login, Unreadable};
use crate::source::Sealed;

/// The number of a login: the first that was proven is 1, every one that was proven after it is one more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation(pub u64);

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A login that was proven.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub generation: Generation,
    pub login: Login,
}

/// What a new text means.
#[derive(Debug, PartialEq)]
pub(crate) enum Offer {
    /// It is in use already.
    Same,
    /// It cannot be read; nothing changes.
    Unusable(Unreadable),
    /// It has to be proven first.
    Prove(Login),
}

/// What to do after a login was refused.
#[derive(Debug, PartialEq)]
pub(crate) enum Verdict {
    /// Another login is in use by now: try that one.
    Again,
    /// The older login is in use again: try that one.
    FellBack(Entry),
    /// No other is known: wait for a newer one.
    Wait,
}

/// The logins that were proven: the newest, and the one before it.
#[derive(Debug, Default)]
pub(crate) struct Book {
    newest: Option<Entry>,
    older: Option<Entry>,
    /// The newest was refused, and the older one is in use again.
    fallen_back: bool,
    /// Whatever is in use was refused, and nothing else is left.
    spent: bool,
    count: u64,
}

impl Book {
    /// What new connections log in with.
    pub fn in_use(&self) -> Option<&Entry> {
        match self.fallen_back {
            true => self.older.as_ref(),
            false => self.newest.as_ref(),
        }
    }

    /// Whether the older login is in use again.
    pub fn fallen_back(&self) -> bool {
        self.fallen_back
    }

    /// The newest login, when it has to be proven once more because nothing else is left.
    pub fn last_hope(&self) -> Option<Login> {
        self.newest.as_ref().filter(|_| self.spent).map(|entry| entry.login.clone())
    }

    /// Whether everything that is known was refused.
    pub fn spent(&self) -> bool {
        self.spent
    }

    /// Looks at a text that the source gave.
    pub fn offer(&self, text: &Sealed) -> Offer {
        match Login::parse(text) {
            Err(error) => Offer::Unusable(error),
            Ok(login) => match self.in_use() {
                Some(used) if used.login == login && !self.spent => Offer::Same,
                Some(_) | None => Offer::Prove(login),
            },
        }
    }

    /// Puts a login in use that has been seen to work.
    pub fn proven(&mut self, login: Login) -> Entry {
        self.count += 1;
        let entry = Entry { generation: Generation(self.count), login };
        self.older = self.in_use().cloned();
        self.newest = Some(entry.clone());
        (self.fallen_back, self.spent) = (false, false);
        entry
    }

    /// Notes that the server refused the password or the role of this generation.
    pub fn refused(&mut self, generation: Generation) -> Verdict {
        match (self.in_use(), &self.older) {
            (Some(used), _) if used.generation != generation => Verdict::Again,
            (Some(_), Some(older)) if !self.fallen_back => {
                self.fallen_back = true;
                Verdict::FellBack(older.clone())
            }
            (Some(_), _) | (None, _) => {
                self.spent = true;
                Verdict::Wait
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays one line of words: `a` is proven, `!1` is refused, `?a` is offered.
    fn played(line: &str) -> String {
        let mut book = Book::default();
        let text = |user: &str| Sealed::new(format!("host=db user={user}"));
        let mut told = Vec::new();
        for word in line.split(' ') {
            told.push(match word.split_at(1) {
                ("!", number) => match book.refused(Generation(number.parse().expect("a number"))) {
                    Verdict::Again => "again".to_owned(),
                    Verdict::FellBack(entry) => format!("back to {}", entry.login.user()),
                    Verdict::Wait => "wait".to_owned(),
                },
                ("?", "") => format!("{:?}", book.offer(&Sealed::new("nonsense"))),
                ("?", user) => match book.offer(&text(user)) {
                    Offer::Same => "same".to_owned(),
                    Offer::Unusable(_) => "unusable".to_owned(),
                    Offer::Prove(login) => format!("prove {}", login.user()),
                },
                _ => book.proven(Login::parse(&text(word)).expect("well-formed")).generation.to_string(),
            });
        }
        let used = book.in_use().map_or("nothing", |entry| entry.login.user());
        format!("{}; {used}{}", told.join(", "), if book.spent() { " spent" } else { "" })
    }

    #[test]
    fn every_order_of_changes_and_refusals_has_its_answer() {
        let table = [
            ("?a", "prove a; nothing"),
            ("?", "Unusable(Form(0)); nothing"),
            ("!1", "wait; nothing spent"),
            ("a ?a", "1, same; a"),
            ("a ?b", "1, prove b; a"),
            ("a b", "1, 2; b"),
            ("a b !1", "1, 2, again; b"),
            ("a b !2", "1, 2, back to a; a"),
            ("a b !2 !2", "1, 2, back to a, again; a"),
            ("a b !2 !1", "1, 2, back to a, wait; a spent"),
            ("a b !2 ?b", "1, 2, back to a, prove b; a"),
            ("a b !2 c", "1, 2, back to a, 3; c"),
            ("a b !2 c !3", "1, 2, back to a, 3, back to a; a"),
            ("a !1", "1, wait; a spent"),
            ("a !1 ?a", "1, wait, prove a; a spent"),
            ("a !1 a", "1, wait, 2; a"),
            ("a b c !3 !2", "1, 2, 3, back to b, wait; b spent"),
        ];
        for (line, want) in table {
            assert_eq!(played(line), want, "{line}");
        }
    }

    #[test]
    fn the_newest_is_proven_again_only_when_nothing_else_is_left() {
        let mut book = Book::default();
        let login =
            |user: &str| Login::parse(&Sealed::new(format!("host=db user={user}"))).expect("well-formed");
        book.proven(login("a"));
        book.proven(login("b"));
        assert_eq!(book.last_hope(), None);
        book.refused(Generation(2));
        assert_eq!((book.last_hope(), book.fallen_back()), (None, true));
        book.refused(Generation(1));
        assert_eq!(book.last_hope(), Some(login("b")));
    }
}
