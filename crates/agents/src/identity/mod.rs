//! Who asks: tokens, what is kept of them, and whom a call runs as.

mod book;
mod caller;
pub mod rights;
mod token;

pub use book::Book;
pub use caller::{Caller, Role};
pub use token::{Kept, LABEL, NAMESPACE, Presented, TYPE, kept, mint};
