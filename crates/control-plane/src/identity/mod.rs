//! Who is who: the server's own certificate authority, client certificates and signed tokens.

pub mod authority;
pub mod certificates;
pub mod tokens;
