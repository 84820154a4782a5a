//! `unregister`: ends a session.
